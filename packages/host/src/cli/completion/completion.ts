import { parseArgs } from "node:util";
import { type Client, shortId } from "@holdfast/client";
import { flagOf, settingNames } from "../../ops/config/settings.ts";
import { exit, type Terminal, type Command } from "../command.ts";
import { sessionTitle } from "../transcript/describe.ts";
import { connectRunningHost } from "../connection/connect.ts";
import { commands } from "../commands/registry.ts";
import { completionStrings as texts } from "../strings/host.ts";
import { completionOf, shellScripts } from "./shell-scripts.ts";

/** Nobody waits longer than this after pressing Tab. */
const timeoutMs = 700;
const maxSessions = 100;
const maxSuggestions = 30;
/** A server names its models as it likes, and bash inserts suggestions unquoted: such a name could be a command. */
const plainWord = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;

/**
 * Answers a shell that completes a line: `__complete session|model <typed> <words of the line>` prints one value
 * per line with a description. Anything unknown is left out silently, and no host is started.
 */
export async function printSuggestions(
  [kind = "", typed = "", ...line]: readonly string[],
  terminal: Terminal,
): Promise<number> {
  try {
    const connection = await connectRunningHost(flagsIn(line), terminal, timeoutMs);
    if (connection === undefined) return exit.done;
    const signal = AbortSignal.timeout(timeoutMs);
    const suggestions = await suggestionsFor(kind, typed, connection.client, signal);
    for (const [value, about] of suggestions.slice(0, maxSuggestions))
      terminal.print(about === "" ? value : `${value}\t${about}`);
  } catch {
    // A half-typed line can be anything.
  }
  return exit.done;
}

/** Setting flags in the possibly incomplete line: `--home` applies to completion, too. */
function flagsIn(line: readonly string[]): Readonly<Record<string, unknown>> {
  const options = Object.fromEntries(
    settingNames.map((name) => [flagOf(name), { type: "string" }] as const),
  );
  const { values } = parseArgs({
    args: [...line],
    options,
    strict: false,
    allowPositionals: true,
  });
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => typeof value === "string"),
  );
}

async function suggestionsFor(
  kind: string,
  typed: string,
  client: Client,
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  const query = typed.replaceAll(/^["']/g, "").toLowerCase();
  if (kind === "model") {
    const listed = await client.listModels({}, { signal });
    const models = listed.ok ? listed.value.models.filter(({ usable }) => usable) : [];
    return models.flatMap(({ name }) =>
      name.toLowerCase().startsWith(query) && plainWord.test(name) ? [[name, ""] as const] : [],
    );
  }
  if (kind !== "session") return [];
  const listed = await client.listSessions({ query: { limit: maxSessions } }, { signal });
  const sessions = listed.ok ? listed.value.sessions : [];
  return sessions.flatMap((session) => {
    const [id, title] = [shortId(session.id), sessionTitle(session)];
    const isMatch = id.startsWith(query) || title.toLowerCase().includes(query);
    return isMatch ? [[id, title] as const] : [];
  });
}

export const completion: Command = {
  usage: ["completion bash|zsh|fish"],
  about: texts.about,
  examples: [
    ["source <(holdfast completion bash)", texts.examples.bash],
    ["holdfast completion zsh > ~/.zfunc/_holdfast", texts.examples.zsh],
    ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", texts.examples.fish],
  ],
  settings: "none",
  async run({ words: [shell = "", ...rest] }, terminal) {
    const renderScript = Object.hasOwn(shellScripts, shell) ? shellScripts[shell] : undefined;
    if (renderScript === undefined || rest.length > 0) {
      terminal.printError(texts.whichShell(Object.keys(shellScripts)));
      return exit.misuse;
    }
    const completions = Object.entries(commands).map(async ([name, { summary, load }]) =>
      completionOf(name, summary, await load()),
    );
    terminal.output.write(renderScript(await Promise.all(completions)));
    return exit.done;
  },
};
