import { type Client, describeError } from "@holdfast/client";
import { type GatewayView, type WebhookView } from "@holdfast/protocol";
import { type Command, exit, type Terminal } from "../command.ts";
import { type HostConnection, withHost } from "../connection/connect.ts";
import { cleanLine } from "../screen/text.ts";

const usageText =
  "It is used like this: holdfast gateway [allow <code> | deny <code> | webhook <name> [url] | rotate <name> | remove <name>]";

type GatewayContext = Pick<HostConnection, "client" | "address">;
type GatewayAction = (
  context: GatewayContext,
  terminal: Terminal,
  args: readonly string[],
) => Promise<number>;

/** The actions, with the number of arguments each accepts. */
const actions: Readonly<
  Record<string, { readonly argCounts: readonly number[]; readonly run: GatewayAction }>
> = {
  show: { argCounts: [0], run: show },
  allow: { argCounts: [1], run: (...params) => decide(...params, "allow") },
  deny: { argCounts: [1], run: (...params) => decide(...params, "deny") },
  webhook: { argCounts: [1, 2], run: putWebhook },
  rotate: { argCounts: [1], run: rotateWebhook },
  remove: { argCounts: [1], run: removeWebhook },
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
    const [name = "show", ...args] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action?.argCounts.includes(args.length) !== true) {
      terminal.printError(usageText);
      return exit.misuse;
    }
    return withHost(given, terminal, (connection) => action.run(connection, terminal, args));
  },
};

async function show({ client }: GatewayContext, terminal: Terminal): Promise<number> {
  const result = await client.readGateway();
  if (!result.ok) {
    terminal.printError(describeError(result.error));
    return exit.failed;
  }
  for (const line of linesOf(result.value)) terminal.print(cleanLine(line));
  return exit.done;
}

const noBot =
  "No bot is connected: paste its token on the page, under Settings, Chat bot, or set HOLDFAST_TELEGRAM_TOKEN.";

function linesOf(view: GatewayView): string[] {
  const { state, bot, trouble, requests, people, lanes, outbox, webhooks } = view;
  const hasBot = state !== "off" && view.platform !== "webhook";
  const undelivered = outbox.filter(
    ({ state: chunkState, message }) =>
      chunkState === "unknown" || chunkState === "failed" || message !== null,
  );
  return [
    hasBot ? `@${bot?.name ?? "…"}: ${trouble === null ? state : trouble.message}` : noBot,
    ...requests.map(({ name, code }) => `asks: ${name} — holdfast gateway allow ${code}`),
    ...people.map((person) => `${person.state}: ${person.name} (${person.person})`),
    ...webhooks.map(webhookLine),
    ...lanes.map(({ lane }) => `chat: ${lane}`),
    ...undelivered.map(
      (chunk) => `${chunk.state}: ${chunk.lane} ${chunk.message ?? chunk.code ?? ""}`,
    ),
  ];
}

function webhookLine({ name, to, rotating, commands }: WebhookView): string {
  return [
    `webhook: ${name}`,
    to === null ? "no answers" : `answers to ${to}`,
    ...(rotating ? ["two secrets count"] : []),
    ...(commands.length > 0
      ? [`may use ${commands.map((command) => `/${command}`).join(" ")}`]
      : []),
  ].join(", ");
}

async function putWebhook(
  context: GatewayContext,
  terminal: Terminal,
  [name = "", url]: readonly string[],
): Promise<number> {
  const body = url === undefined ? {} : { url };
  return printWebhook(
    context,
    terminal,
    await context.client.putWebhook({ params: { name }, body }),
  );
}

async function rotateWebhook(
  context: GatewayContext,
  terminal: Terminal,
  [name = ""]: readonly string[],
): Promise<number> {
  const rotated = await context.client.rotateWebhook({ params: { name }, body: {} });
  return printWebhook(context, terminal, rotated);
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
  const result = await client.decidePairing({ params: { code }, body: { decision } });
  if (!result.ok) {
    terminal.printError(describeError(result.error));
    return exit.failed;
  }
  terminal.print(cleanLine(`${result.value.person.name} is ${result.value.person.state}.`));
  return exit.done;
}
