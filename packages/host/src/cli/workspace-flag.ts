import { isAbsolute, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describeError } from "@holdfast/client";
import { type Arguments, exit, hasFlag, type Terminal, textFlag } from "./command.ts";
import type { HostConnection } from "./connection/connect.ts";
import { checkLocalFolder, requestOnce } from "./connection/local-folder.ts";
import { cleanLine } from "./screen/text.ts";
import { connectionStrings } from "./strings/connection.ts";
import { programStrings } from "./strings/program.ts";

const texts = connectionStrings.folder;

export const workspaceFlags = {
  workspace: {
    type: "string",
    value: "folder",
    about: programStrings.flags.workspace,
  },
  "own-folder": {
    type: "boolean",
    about: programStrings.flags.ownFolder,
  },
  worktree: {
    type: "boolean",
    about: programStrings.flags.worktree,
  },
} as const;

/** Where a session is to work. `undefined` leaves a session where it is, `null` is the folder kept for it. */
export type ChosenFolder =
  | {
      readonly ok: true;
      readonly workspace: string | null | undefined;
      /** A new session begins in a worktree of the repository there. */
      readonly worktree?: Readonly<Record<string, never>> | undefined;
      /** What the person should know about the choice. */
      readonly note: string | null;
    }
  | { readonly ok: false; readonly message: string; readonly exitCode: number };

/**
 * The folder that the flags name, else the current one for a new session. A folder that nobody has allowed yet is asked
 * about on a terminal. Without one, a folder that was named is an error, and the current one is not used.
 */
export async function chooseFolder(
  given: Arguments,
  terminal: Terminal,
  connection: HostConnection,
  session: "new" | "existing",
  makeRequest = requestOnce,
): Promise<ChosenFolder> {
  if (hasFlag(given, "worktree")) return chooseRepository(given, terminal, connection, makeRequest);
  const named = textFlag(given, "workspace");
  if (hasFlag(given, "own-folder"))
    return named === undefined ? chosen(null) : refused(texts.oneOfBoth, exit.misuse);
  if (named === undefined && session === "existing") return chosen(undefined);
  if (named !== undefined && !connection.isLocal) return nameRemoteFolder(named);
  const folder = resolve(named ?? ".");
  const checked = await checkLocalFolder(connection, folder, makeRequest);
  switch (checked.state) {
    case "allowed":
      return chosen(folder);
    case "failed":
      return refused(describeError(checked.error));
    case "elsewhere":
      if (named !== undefined) return chosen(folder);
      return chosen(null, elsewhereNote(checked.why, connection));
    case "refused":
      if (named !== undefined) return refused(checked.reason);
      return chosen(null, ownFolderNote(folder, checked.reason));
    case "askable":
      return settleAskable({ folder, isNamed: named !== undefined }, terminal, connection);
  }
}

/** The folder as without `--worktree`, which has to be one that is used. */
async function chooseRepository(
  given: Arguments,
  terminal: Terminal,
  connection: HostConnection,
  makeRequest: typeof requestOnce,
): Promise<ChosenFolder> {
  if (hasFlag(given, "own-folder")) return refused(texts.worktreeOrOwn, exit.misuse);
  if (textFlag(given, "session") !== undefined) return refused(texts.worktreeIsNew, exit.misuse);
  const { flags, ...others } = given;
  const { worktree: _, ...without } = flags;
  const plain = { ...others, flags: without };
  const folder = await chooseFolder(plain, terminal, connection, "new", makeRequest);
  if (!folder.ok) return folder;
  return typeof folder.workspace === "string"
    ? { ...folder, worktree: {} }
    : refused(folder.note ?? texts.worktreeNeedsFolder);
}

async function settleAskable(
  { folder, isNamed }: { readonly folder: string; readonly isNamed: boolean },
  terminal: Terminal,
  { client }: HostConnection,
): Promise<ChosenFolder> {
  const shown = cleanLine(folder);
  if (terminal.input.isTTY !== true || terminal.output.isTTY !== true) {
    const allow = `holdfast workspaces allow ${quoteForShell(shown)}`;
    if (isNamed) return refused(texts.notYet(shown, allow));
    return chosen(null, ownFolderNote(folder, texts.toAllow(allow)));
  }
  const reply = await askYesOrNo(terminal, texts.ask(shown));
  if (reply === "left") return refused(texts.left);
  if (reply === "no")
    return isNamed
      ? refused(texts.mayNot(shown))
      : chosen(null, ownFolderNote(folder, texts.notAllowed));
  const allowed = await client.allowFolder({ body: { path: folder } });
  return allowed.ok ? chosen(folder) : refused(describeError(allowed.error));
}

/** A folder of the host's machine, which that host checks when the session begins. */
function nameRemoteFolder(named: string): ChosenFolder {
  if (isAbsolute(named)) return chosen(named);
  return refused(texts.needsAbsolute, exit.misuse);
}

function chosen(workspace: string | null | undefined, note: string | null = null): ChosenFolder {
  return { ok: true, workspace, note };
}

function refused(message: string, exitCode: number = exit.failed): ChosenFolder {
  return { ok: false, message: cleanLine(message), exitCode };
}

function ownFolderNote(folder: string, why: string): string {
  return cleanLine(texts.ownFolder(folder, why));
}

function elsewhereNote(why: "remote" | "key", { address }: HostConnection): string {
  return cleanLine(why === "remote" ? texts.remote(address ?? texts.theHost) : texts.key);
}

function quoteForShell(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Asks on the terminal. The end of the input and Ctrl-C leave. */
export function askYesOrNo(terminal: Terminal, question: string): Promise<"yes" | "no" | "left"> {
  const { promise, resolve: settle } = Promise.withResolvers<"yes" | "no" | "left">();
  terminal.output.write(question);
  const lines = createInterface({ input: terminal.input, terminal: false });
  const onInterrupt = (): void => lines.close();
  process.once("SIGINT", onInterrupt);
  lines.once("line", (line) => {
    settle(/^\s*y(es)?\s*$/i.test(line) ? "yes" : "no");
    lines.close();
  });
  lines.once("close", () => {
    process.off("SIGINT", onInterrupt);
    settle("left");
  });
  return promise;
}
