/*
 * commands.h - one function per command, each in its cmd_*.c; main.c has the table
 *
 * argv[0] is the first argument behind the command's name. Returns the exit status: 0 done, 1
 * failed, 2 bad usage; everything has been said.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

int cmd_cache(const struct command *cmd, int argc, char **argv);
int cmd_drop(const struct command *cmd, int argc, char **argv);
int cmd_fill(const struct command *cmd, int argc, char **argv);
int cmd_get(const struct command *cmd, int argc, char **argv);
int cmd_index(const struct command *cmd, int argc, char **argv);
int cmd_mount(const struct command *cmd, int argc, char **argv);
int cmd_reload(const struct command *cmd, int argc, char **argv);
int cmd_status(const struct command *cmd, int argc, char **argv);
int cmd_unmount(const struct command *cmd, int argc, char **argv);
int cmd_verify(const struct command *cmd, int argc, char **argv);

#endif
