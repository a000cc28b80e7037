import { type Client, describeError } from "@holdfast/client";
import { type GatewayView, type WebhookView } from "@holdfast/protocol";
import { type Command, exit, type Terminal } from "../command.ts";
import { type HostConnection, withHost } from "../connection/connect.ts";
import { cleanLine } from "../screen/text.ts";

const usageText =
  "It is used like this: holdfast gateway [allow <code> | deny <code> | webhook <name> [url] | rotate <name> | remove <name>]";

type GatewayContext = Pick<HostConnection, "client" | "address">;
type GatewayAction = (
  place: GatewayContext,
  terminal: Terminal,
  words: readonly string[],
) => Promise<number>;

/** What can be done, with how many words it takes. */
const actions: Readonly<
  Record<string, { readonly takes: readonly number[]; readonly act: GatewayAction }>
> = {
  show: { takes: [0], act: show },
  allow: { takes: [1], act: (...given) => decide(...given, "allow") },
  deny: { takes: [1], act: (...given) => decide(...given, "deny") },
  webhook: { takes: [1, 2], act: putWebhook },
  rotate: { takes: [1], act: rotateWebhook },
  remove: { takes: [1], act: removeWebhook },
};

export const gateway: Command = {
  usage: [
    "gateway",
    "gateway allow <code>",
    "gateway deny <code>",
    "gateway webhook <name> [url]",
    "gateway rotate <name>",
    "gateway remove <name>",
  ],
  about:
    "How the chat bot stands, who asks to speak to it, and what has not arrived. A person who writes to the bot gets a code; allow it and they are answered. A webhook lets a program speak, and posts the answers to its url.",
  examples: [
    ["holdfast gateway", "the bot, its requests and what is in trouble"],
    ["holdfast gateway allow K3M9X2AB", "the person who showed this code may speak"],
    ["holdfast gateway webhook ci https://ci.example.org/hook", "a program may speak, as ci"],
    ["holdfast gateway rotate ci", "a new secret; the old one counts until the next"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "show", ...words] = given.words;
    const chosen = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (chosen?.takes.includes(words.length) !== true) {
      terminal.printError(usageText);
      return exit.misuse;
    }
    return withHost(given, terminal, (reached) => chosen.act(reached, terminal, words));
  },
};

async function show({ client }: GatewayContext, terminal: Terminal): Promise<number> {
  const read = await client.readGateway();
  if (!read.ok) {
    terminal.printError(describeError(read.error));
    return exit.failed;
  }
  for (const line of linesOf(read.value)) terminal.print(cleanLine(line));
  return exit.done;
}

const noBot =
  "No bot is connected: paste its token on the page, under Settings, Chat bot, or set HOLDFAST_TELEGRAM_TOKEN.";

function linesOf(view: GatewayView): string[] {
  const { state, bot, trouble, requests, people, lanes, outbox, webhooks } = view;
  const isBot = state !== "off" && view.platform !== "webhook";
  const troubled = outbox.filter(
    ({ state: how, message }) => how === "unknown" || how === "failed" || message !== null,
  );
  return [
    isBot ? `@${bot?.name ?? "…"}: ${trouble === null ? state : trouble.message}` : noBot,
    ...requests.map(({ name, code }) => `asks: ${name} — holdfast gateway allow ${code}`),
    ...people.map((person) => `${person.state}: ${person.name} (${person.person})`),
    ...webhooks.map(webhookLine),
    ...lanes.map(({ lane }) => `chat: ${lane}`),
    ...troubled.map(
      (chunk) => `${chunk.state}: ${chunk.lane} ${chunk.message ?? chunk.code ?? ""}`,
    ),
  ];
}

function webhookLine({ name, to, rotating, commands }: WebhookView): string {
  return [
    `webhook: ${name}`,
    to === null ? "no answers" : `answers to ${to}`,
    ...(rotating ? ["two secrets count"] : []),
    ...(commands.length > 0 ? [`may use ${commands.map((each) => `/${each}`).join(" ")}`] : []),
  ].join(", ");
}

async function putWebhook(
  place: GatewayContext,
  terminal: Terminal,
  [name = "", url]: readonly string[],
): Promise<number> {
  const body = url === undefined ? {} : { url };
  return printWebhook(place, terminal, await place.client.putWebhook({ params: { name }, body }));
}

async function rotateWebhook(
  place: GatewayContext,
  terminal: Terminal,
  [name = ""]: readonly string[],
): Promise<number> {
  const rotated = await place.client.rotateWebhook({ params: { name }, body: {} });
  return printWebhook(place, terminal, rotated);
}

function printWebhook(
  { address = "/" }: GatewayContext,
  terminal: Terminal,
  result: Awaited<ReturnType<Client["putWebhook"]>>,
): number {
  if (!result.ok) {
    terminal.printError(describeError(result.error));
    return exit.failed;
  }
  const { webhook, secret } = result.value;
  terminal.print(cleanLine(webhookLine(webhook)));
  terminal.print(`address: ${address.replace(/\/*$/, "/")}api/gateway/webhook/${webhook.name}`);
  terminal.print(
    secret === null
      ? `secret: as before; holdfast gateway rotate ${webhook.name} makes another`
      : `secret, shown this once: ${secret}`,
  );
  return exit.done;
}

async function removeWebhook(
  { client }: GatewayContext,
  terminal: Terminal,
  [name = ""]: readonly string[],
): Promise<number> {
  const removed = await client.removeWebhook({ params: { name } });
  if (removed.ok) {
    terminal.print(`The webhook ${name} is gone, with its secrets.`);
    return exit.done;
  }
  terminal.printError(describeError(removed.error));
  return exit.failed;
}

async function decide(
  { client }: GatewayContext,
  terminal: Terminal,
  [code = ""]: readonly string[],
  decision: "allow" | "deny",
): Promise<number> {
  const decided = await client.decidePairing({ params: { code }, body: { decision } });
  if (!decided.ok) {
    terminal.printError(describeError(decided.error));
    return exit.failed;
  }
  terminal.print(cleanLine(`${decided.value.person.name} is ${decided.value.person.state}.`));
  return exit.done;
}
