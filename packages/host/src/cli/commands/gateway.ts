import type { Client } from "@holdfast/client";
import type { GatewayView, WebhookView } from "@holdfast/protocol";
import { type ActionCall, type Action, failed, misuse, runAction, say } from "../actions.ts";
import { type Command, exit } from "../command.ts";
import { cleanLine } from "../screen/text.ts";
import { gatewayStrings as texts } from "../strings/gateway.ts";

/** With the number of arguments that each accepts. */
const argumentCounts = {
  show: [0],
  allow: [1],
  deny: [1],
  webhook: [1, 2],
  rotate: [1],
  remove: [1],
} as const;
type ActionName = keyof typeof argumentCounts;

const actions: Readonly<Record<ActionName, Action>> = {
  show,
  allow: (call) => decide(call, "allow"),
  deny: (call) => decide(call, "deny"),
  webhook: putWebhook,
  rotate: rotateWebhook,
  remove: removeWebhook,
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
  about: texts.about,
  examples: [
    ["holdfast gateway", texts.examples.show],
    ["holdfast gateway allow K3M9X2AB", texts.examples.allow],
    ["holdfast gateway webhook ci https://ci.example.org/hook", texts.examples.webhook],
    ["holdfast gateway rotate ci", texts.examples.rotate],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "show", ...rest] = given.words;
    if (isAction(name) && !argumentCounts[name].some((count) => count === rest.length))
      return misuse({ terminal }, texts.usage[name]);
    return runAction(given, terminal, { command: "gateway", usual: "show", actions });
  },
};

function isAction(name: string): name is ActionName {
  return Object.hasOwn(actions, name);
}

async function show(call: ActionCall): Promise<number> {
  const result = await call.client.readGateway();
  if (!result.ok) return failed(call, result);
  for (const line of linesOf(result.value)) call.terminal.print(cleanLine(line));
  return exit.done;
}

function linesOf(view: GatewayView): string[] {
  const { state, bot, trouble, requests, people, lanes, outbox, webhooks } = view;
  const hasBot = state !== "off" && view.platform !== "webhook";
  const undelivered = outbox.filter(
    ({ state: chunkState, message }) =>
      chunkState === "unknown" || chunkState === "failed" || message !== null,
  );
  return [
    hasBot ? texts.bot(bot?.name ?? texts.unknownBot, trouble?.message ?? state) : texts.noBot,
    ...requests.map(({ name, code }) => texts.request(name, code)),
    ...people.map((person) => texts.person(person.state, person.name, person.person)),
    ...webhooks.map(webhookLine),
    ...lanes.map(({ lane }) => texts.chat(lane)),
    ...undelivered.map((chunk) =>
      texts.undelivered(chunk.state, chunk.lane, chunk.message ?? chunk.code ?? ""),
    ),
  ];
}

function webhookLine({ name, to, rotating, commands }: WebhookView): string {
  return [
    texts.webhook.title(name),
    to === null ? texts.webhook.noAnswers : texts.webhook.answersTo(to),
    ...(rotating ? [texts.webhook.rotating] : []),
    ...(commands.length > 0
      ? [texts.webhook.commands(commands.map((command) => `/${command}`))]
      : []),
  ].join(", ");
}

async function putWebhook(call: ActionCall): Promise<number> {
  const [name = "", url] = call.words;
  const body = url === undefined ? {} : { url };
  return printWebhook(call, await call.client.putWebhook({ params: { name }, body }));
}

async function rotateWebhook(call: ActionCall): Promise<number> {
  const [name = ""] = call.words;
  return printWebhook(call, await call.client.rotateWebhook({ params: { name }, body: {} }));
}

function printWebhook(call: ActionCall, result: Awaited<ReturnType<Client["putWebhook"]>>): number {
  if (!result.ok) return failed(call, result);
  const { terminal, address = "/" } = call;
  const { webhook, secret } = result.value;
  const url = `${address.replace(/\/*$/, "/")}api/gateway/webhook/${webhook.name}`;
  terminal.print(cleanLine(webhookLine(webhook)));
  terminal.print(texts.webhook.address(url));
  terminal.print(
    secret === null ? texts.webhook.sameSecret(webhook.name) : texts.webhook.newSecret(secret),
  );
  return exit.done;
}

async function removeWebhook(call: ActionCall): Promise<number> {
  const [name = ""] = call.words;
  const removed = await call.client.removeWebhook({ params: { name } });
  return removed.ok ? say(call, texts.webhook.removed(name)) : failed(call, removed);
}

async function decide(call: ActionCall, decision: "allow" | "deny"): Promise<number> {
  const [code = ""] = call.words;
  const result = await call.client.decidePairing({ params: { code }, body: { decision } });
  if (!result.ok) return failed(call, result);
  const { person } = result.value;
  return say(call, texts.decided[person.state](person.name));
}
