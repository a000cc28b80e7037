import { parseArgs } from "node:util";
import { type Client, shortId } from "@holdfast/client";
import { flagOf, settingNames } from "../../ops/config/settings.ts";
import { exit, type Terminal, type Command } from "../command.ts";
import { sessionTitle } from "../transcript/describe.ts";
import { connectRunningHost } from "../connection/connect.ts";
import { commands } from "../commands/registry.ts";
import { completionOf, shellScripts } from "./shell-scripts.ts";

/** Longer than this nobody waits behind a Tab. */
const timeoutMs = 700;
const maxSessions = 100;
const maxSuggestions = 30;
/** A server names its models as it likes, and bash puts what is offered into the line as it is: such a name could be a command. */
const plainWord = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;

/**
 * Answers a shell that completes a line: `__complete session|model <typed> <words of the line>`, a value and what it is to a line.
 * Whoever presses Tab wants a word or nothing: what cannot be known is left out without a sound, and no host is started for it.
 */
export async function printSuggestions(
  [what = "", typed = "", ...line]: readonly string[],
  terminal: Terminal,
): Promise<number> {
  try {
    const reached = await connectRunningHost(flagsIn(line), terminal, timeoutMs);
    if (reached === undefined) return exit.done;
    const signal = AbortSignal.timeout(timeoutMs);
    const offered = await suggestionsFor(what, typed, reached.client, signal);
    for (const [value, about] of offered.slice(0, maxSuggestions))
      terminal.print(about === "" ? value : `${value}\t${about}`);
  } catch {
    // A line that is half typed may be anything at all.
  }
  return exit.done;
}

/** The settings in a line that may be at any stage of being typed: `--home` of another home counts here too. */
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
  what: string,
  typed: string,
  client: Client,
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  const wanted = typed.replaceAll(/^["']/g, "").toLowerCase();
  if (what === "model") {
    const listed = await client.listModels({}, { signal });
    const models = listed.ok ? listed.value.models.filter(({ usable }) => usable) : [];
    return models.flatMap(({ name }) =>
      name.toLowerCase().startsWith(wanted) && plainWord.test(name) ? [[name, ""] as const] : [],
    );
  }
  if (what !== "session") return [];
  const listed = await client.listSessions({ query: { limit: maxSessions } }, { signal });
  const sessions = listed.ok ? listed.value.sessions : [];
  return sessions.flatMap((session) => {
    const [id, title] = [shortId(session.id), sessionTitle(session)];
    const fits = id.startsWith(wanted) || title.toLowerCase().includes(wanted);
    return fits ? [[id, title] as const] : [];
  });
}

export const completion: Command = {
  usage: ["completion bash|zsh|fish"],
  about: [
    "Prints a script that makes a shell complete commands, their flags and what those take. Sessions and models are asked",
    "of the host that serves this home, where one does; nothing is started for a Tab. Print it again after an update.",
  ].join("\n"),
  examples: [
    ["source <(holdfast completion bash)", "for this shell; in ~/.bashrc for every one"],
    ["holdfast completion zsh > ~/.zfunc/_holdfast", "a folder of your fpath, in zsh"],
    ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "in fish"],
  ],
  settings: "none",
  async run({ words: [shell = "", ...rest] }, terminal) {
    const write = Object.hasOwn(shellScripts, shell) ? shellScripts[shell] : undefined;
    if (write === undefined || rest.length > 0) {
      const known = Object.keys(shellScripts).join(", ");
      terminal.printError(`For which shell? There are ${known}: holdfast completion bash`);
      return exit.misuse;
    }
    const all = Object.entries(commands).map(async ([name, { summary, load }]) =>
      completionOf(name, summary, await load()),
    );
    terminal.output.write(write(await Promise.all(all)));
    return exit.done;
  },
};
