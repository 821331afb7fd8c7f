// SPDX-License-Identifier: GPL-2.0-or-later
/* again PROGRAM WORDS...: runs it, again and again, output thrown away. The child dies with us. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	for (;;) {
		int status = 0;
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			int null = open("/dev/null", O_RDWR | O_CLOEXEC);

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			dup2(null, STDIN_FILENO);
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
			execvp(argv[1], argv + 1);
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
			return 1;
	}
}
