import { type Client, type GatewayView, sentenceOf } from "@holdfast/protocol";
import { type Command, exit, type Terminal } from "./command.ts";
import { reachHost } from "./reach.ts";
import { cleanLine } from "./screen/index.ts";

export const gateway: Command = {
  usage: ["gateway", "gateway allow <code>", "gateway deny <code>"],
  about:
    "How the chat bot stands, who asks to speak to it, and what has not arrived. A person who writes to the bot gets a code; allow it and they are answered.",
  examples: [
    ["holdfast gateway", "the bot, its requests and what is in trouble"],
    ["holdfast gateway allow K3M9X2AB", "the person who showed this code may speak"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [act = "show", code = "", ...rest] = given.words;
    const isKnown = act === "show" ? code === "" : ["allow", "deny"].includes(act) && code !== "";
    if (!isKnown || rest.length > 0) {
      terminal.complain("It is used like this: holdfast gateway [allow <code> | deny <code>]");
      return exit.misuse;
    }
    const reached = await reachHost(given, terminal, { here: "rests" });
    if (!reached.ok) {
      terminal.complain(reached.failure.sentence);
      return exit.failed;
    }
    const { client, close } = reached.value;
    try {
      if (act === "show") return await show(client, terminal);
      return await decide(client, terminal, code, act === "allow" ? "allow" : "deny");
    } finally {
      await close();
    }
  },
};

async function show(client: Client, terminal: Terminal): Promise<number> {
  const read = await client.readGateway();
  if (!read.ok) {
    terminal.complain(sentenceOf(read.error));
    return exit.failed;
  }
  for (const line of linesOf(read.value)) terminal.say(cleanLine(line));
  return exit.done;
}

const noBot =
  "No bot is connected: paste its token on the page, under Settings, Chat bot, or set HOLDFAST_TELEGRAM_TOKEN.";

function linesOf({ state, bot, trouble, requests, people, lanes, outbox }: GatewayView): string[] {
  if (state === "off") return [noBot];
  const unsure = outbox.filter((chunk) => chunk.state === "unknown" || chunk.state === "failed");
  return [
    `@${bot?.name ?? "…"}: ${trouble === null ? state : trouble.message}`,
    ...requests.map(({ name, code }) => `asks: ${name} — holdfast gateway allow ${code}`),
    ...people.map((person) => `${person.state}: ${person.name} (${person.person})`),
    ...lanes.map(({ lane }) => `chat: ${lane}`),
    ...unsure.map((chunk) => `${chunk.state}: ${chunk.lane} ${chunk.message ?? chunk.code ?? ""}`),
  ];
}

async function decide(
  client: Client,
  terminal: Terminal,
  code: string,
  decision: "allow" | "deny",
): Promise<number> {
  const decided = await client.decidePairing({ params: { code }, body: { decision } });
  if (!decided.ok) {
    terminal.complain(sentenceOf(decided.error));
    return exit.failed;
  }
  terminal.say(cleanLine(`${decided.value.person.name} is ${decided.value.person.state}.`));
  return exit.done;
}
