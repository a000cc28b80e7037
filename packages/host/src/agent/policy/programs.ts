import { access, constants, realpath } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, resolve } from "node:path";

/**
 * Programs that start no other program, write no file and print no file's content, whatever their arguments are: only
 * for these a rule with a trailing star is offered or accepted from a person.
 */
const plainPrograms = new Set(
  "ls pwd echo printf true false sleep seq expr test basename dirname realpath readlink stat df uname whoami id nproc uptime".split(
    " ",
  ),
);

/** By its bare name: one with a path may be a file of the workspace. */
export function isPlainProgram(program: string | undefined): boolean {
  return program !== undefined && plainPrograms.has(program);
}

const shells = new Set("sh bash zsh dash ksh fish csh tcsh busybox ash".split(" "));

/** Programs whose arguments name another program. */
const wrappers = new Set(
  "env sudo doas su xargs nice ionice nohup timeout time setsid stdbuf unshare chroot chrt taskset flock strace watch script busybox find fd parallel exec command builtin eval".split(
    " ",
  ),
);

export const nameOfProgram = (program: string): string =>
  program.slice(program.lastIndexOf("/") + 1);

/** Whether a command passes a line to a shell, as far as its arguments show. */
export function startsShell(argv: readonly string[]): boolean {
  const [program = "", ...rest] = argv.map(nameOfProgram);
  return shells.has(program) || (wrappers.has(program) && rest.some((name) => shells.has(name)));
}

const maxWords = 200;

/** A command and, if it wraps others, those that its arguments name. A hint: a program can start what it likes. */
export function commandsOf(argv: readonly string[]): readonly (readonly string[])[] {
  const words = argv.slice(0, maxWords);
  const program = nameOfProgram(words[0] ?? "");
  const wrapped = wrappers.has(program) ? words.slice(1).map((_, at) => words.slice(at + 1)) : [];
  const lines = [words, ...wrapped]
    .filter(([name = ""]) => shells.has(nameOfProgram(name)))
    .flatMap(([, ...rest]) => rest.filter((word) => !word.startsWith("-")).slice(0, 3));
  return [argv, ...wrapped, ...lines.flatMap(commandsOfLine)];
}

const keywords = new Set("if then elif else while until do for in case ! { time".split(" "));

/** The simple commands of a shell's line, as far as can be told without being that shell. */
export function commandsOfLine(line: string): readonly (readonly string[])[] {
  return splitCommands(line).flatMap((words) => {
    const start = words.findIndex((word) => !keywords.has(word) && !/^\w+=/.test(word));
    return start === -1 ? [] : commandsOf(words.slice(start));
  });
}

/** What a line sets for its commands: `LD_PRELOAD=./x.so ls`. */
export function assignmentsOfLine(line: string): readonly string[] {
  return splitCommands(line).flatMap((words) => words.filter((word) => /^\w+=/.test(word)));
}

/** The words of each command, without quotes. */
function splitCommands(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [];
  const piece =
    /\s*(?:((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s;&|()`<>"'\\])+)|([;&|()`<>\n]+)|.)/gsy;
  let words: string[] = [];
  for (const [whole, word, operator] of line.matchAll(piece)) {
    if (operator !== undefined || whole.includes("\n")) {
      if (words.length > 0) commands.push(words);
      words = [];
    }
    // `$(curl x)` splits into `$` and a command of its own.
    if (word !== undefined && word !== "$")
      words.push(word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/gs, "$1$2$3"));
  }
  return words.length > 0 ? [...commands, words] : commands;
}

/** The names a program has: as written, and as the file that it really is. */
export async function namesOf(program: string, folder: string): Promise<readonly string[]> {
  const written = nameOfProgram(program);
  const path = program.includes("/") ? resolve(folder, program) : await findOnPath(program);
  const real = path === null ? null : await realpath(path).catch(() => null);
  return real === null ? [written] : [written, basename(real)];
}

async function findOnPath(program: string): Promise<string | null> {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, program);
    if (!isAbsolute(folder)) continue;
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

const gitCommands = new Set(
  "add am annotate apply archive blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean clone commit config count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes pull push range-diff read-tree rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index update-ref version whatchanged worktree write-tree".split(
    " ",
  ),
);

/**
 * Whether a git command is one of git's own, without settings on the command line. Anything else may be an alias, which
 * is a program that the repository's configuration names.
 */
export function isOwnGitCommand(argv: readonly string[]): boolean {
  const [program = "", first = "status"] = argv;
  return nameOfProgram(program) !== "git" || gitCommands.has(first);
}
