import { isAbsolute, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describeError } from "@holdfast/client";
import { type Arguments, exit, hasFlag, type Terminal, textFlag } from "./command.ts";
import type { HostConnection } from "./connection/connect.ts";
import { checkLocalFolder, requestOnce } from "./connection/local-folder.ts";
import { cleanLine } from "./screen/text.ts";

export const workspaceFlags = {
  workspace: {
    type: "string",
    value: "folder",
    about: "work in this folder (by default the one you are in)",
  },
  "own-folder": {
    type: "boolean",
    about: "work in an empty folder that Holdfast keeps for the session",
  },
} as const;

/** Where a session is to work. `undefined` leaves a session where it is, `null` is the folder kept for it. */
export type ChosenFolder =
  | {
      readonly ok: true;
      readonly workspace: string | null | undefined;
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
  const named = textFlag(given, "workspace");
  if (hasFlag(given, "own-folder"))
    return named === undefined
      ? chosen(null)
      : refused("Use --workspace or --own-folder, not both.", exit.misuse);
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

async function settleAskable(
  { folder, isNamed }: { readonly folder: string; readonly isNamed: boolean },
  terminal: Terminal,
  { client }: HostConnection,
): Promise<ChosenFolder> {
  const shown = cleanLine(folder);
  if (terminal.input.isTTY !== true || terminal.output.isTTY !== true) {
    const allow = `holdfast workspaces allow ${quoteForShell(shown)}`;
    if (isNamed) return refused(`Holdfast may not work in ${shown} yet. Allow it once: ${allow}`);
    return chosen(null, ownFolderNote(folder, `To let it work here, run once: ${allow}`));
  }
  const reply = await askYesOrNo(
    terminal,
    `Let Holdfast work in ${shown}?\nIt reads files there without asking. This is remembered for the folder. [y/N] `,
  );
  if (reply === "left") return refused("Nothing was sent or changed.");
  if (reply === "no")
    return isNamed
      ? refused(`Holdfast may not work in ${shown}.`)
      : chosen(null, ownFolderNote(folder, "The folder was not allowed."));
  const allowed = await client.allowFolder({ body: { path: folder } });
  return allowed.ok ? chosen(folder) : refused(describeError(allowed.error));
}

/** A folder of the host's machine, which that host checks when the session begins. */
function nameRemoteFolder(named: string): ChosenFolder {
  if (isAbsolute(named)) return chosen(named);
  return refused(
    "The host is on another machine: give --workspace an absolute path on that machine.",
    exit.misuse,
  );
}

function chosen(workspace: string | null | undefined, note: string | null = null): ChosenFolder {
  return { ok: true, workspace, note };
}

function refused(message: string, exitCode: number = exit.failed): ChosenFolder {
  return { ok: false, message: cleanLine(message), exitCode };
}

function ownFolderNote(folder: string, why: string): string {
  return cleanLine(`The session works in a folder of its own, not in ${folder}. ${why}`);
}

function elsewhereNote(why: "remote" | "key", { address }: HostConnection): string {
  const host = address ?? "the host";
  return cleanLine(
    why === "remote"
      ? `The session works in a folder of its own at ${host}, not in this one: that host is on another machine.`
      : `The session works in a folder of its own: an API key cannot allow this one. --workspace names one that the operator allows.`,
  );
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
