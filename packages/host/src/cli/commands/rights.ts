import { type Client, describeError, type Result } from "@holdfast/client";
import { fieldErrors, type ProfileView, rightsSubject, routes } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

interface RightsCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: RightsCall) => Promise<number>>> = {
  list,
  set,
  remove,
  give,
};

export const rights: Command = {
  usage: [
    "rights list",
    "rights set <profile> [--tools <names>] [--sessions <reach>] [--memory-access <access>] [--approvals <yes|no>]",
    "rights remove <profile>",
    "rights give <who> <profile|default>",
  ],
  about:
    "What a message may cause depends on where it comes from. By default groups have the profile group, webhooks have webhook, and everything else has owner.",
  flags: {
    tools: { type: "string", value: "names", about: "like read_file,wiki__* (all of them)" },
    sessions: { type: "string", value: "own|project|all", about: "which are searched (own)" },
    "memory-access": {
      type: "string",
      value: "none|read|write",
      about: "its access to memory (none)",
    },
    approvals: { type: "string", value: "yes|no", about: "whether it may answer approvals (no)" },
    spend: { type: "string", value: "dollars", about: "spending limit for 24 hours" },
    json: { type: "boolean", about: "a line of JSON for each" },
  },
  examples: [
    ["holdfast rights", "the profiles, and who has which"],
    [
      "holdfast rights set readers --tools read_file,grep --memory-access read",
      "a profile of your own",
    ],
    ["holdfast rights give webhook:ci readers", "from now on for this webhook"],
    ["holdfast rights give groups default", "back to the default"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "list", ...words] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(`"rights ${name}" is not known: ${Object.keys(actions).join(", ")} are.`);
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => action({ client, terminal, given, words }));
  },
};

function failed({ terminal }: RightsCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

function misuse({ terminal }: RightsCall, sentence: string): number {
  terminal.printError(cleanLine(sentence));
  return exit.misuse;
}

async function list(call: RightsCall): Promise<number> {
  const { client, given, terminal } = call;
  const result = await client.readRights();
  if (!result.ok) return failed(call, result);
  const { profiles, assignments } = result.value;
  const isJson = hasFlag(given, "json");
  for (const profile of profiles) terminal.print(isJson ? cleanJson(profile) : rowOf(profile));
  for (const { subject, profile } of assignments)
    terminal.print(isJson ? cleanJson({ subject, profile }) : `${cleanLine(subject)}\t${profile}`);
  return exit.done;
}

const microsPerDollar = 1_000_000;

function rowOf(profile: ProfileView): string {
  const { name, builtIn, tools, sessions, memory, approvals, spendMicrosPerDay } = profile;
  const parts = [
    `tools ${tools.length === 0 ? "none" : tools.join(",")}`,
    `sessions ${sessions}`,
    `memory ${memory}`,
    approvals ? "answers approvals" : "cannot answer approvals",
    ...(spendMicrosPerDay === undefined ? [] : [`$${spendMicrosPerDay / microsPerDollar} a day`]),
    ...(builtIn ? ["built in"] : []),
  ];
  return `${name}\t${cleanLine(parts.join("; "))}`;
}

async function set(call: RightsCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0)
    return misuse(call, "rights set needs one name, like: holdfast rights set readers");
  const approvals = textFlag(given, "approvals") ?? "no";
  if (approvals !== "yes" && approvals !== "no") return misuse(call, "--approvals is yes or no.");
  const spend = textFlag(given, "spend");
  const route = routes.putRightsProfile;
  const params = route.params.safeParse({ name });
  const body = route.body.safeParse({
    tools: listOf(textFlag(given, "tools") ?? "*"),
    sessions: textFlag(given, "sessions") ?? "own",
    memory: textFlag(given, "memory-access") ?? "none",
    approvals: approvals === "yes",
    ...(spend !== undefined && { spendMicrosPerDay: Math.round(Number(spend) * microsPerDollar) }),
  });
  for (const parsed of [params, body])
    if (!parsed.success)
      return misuse(
        call,
        fieldErrors(parsed.error)
          .map(({ path, message }) => `${path}: ${message}.`)
          .join(" "),
      );
  if (!params.success || !body.success) return exit.misuse;
  const result = await client.putRightsProfile({ params: params.data, body: body.data });
  if (!result.ok) return failed(call, result);
  terminal.print(rowOf(result.value.profile));
  return exit.done;
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

async function remove(call: RightsCall): Promise<number> {
  const name = call.words.join(" ");
  const params = routes.removeRightsProfile.params.safeParse({ name });
  if (!params.success) return misuse(call, `"${name}" is not the name of a profile.`);
  const result = await call.client.removeRightsProfile({ params: params.data });
  if (!result.ok) return failed(call, result);
  call.terminal.print(cleanLine(`Removed: ${name}.`));
  return exit.done;
}

async function give(call: RightsCall): Promise<number> {
  const [who = "", profile = "", ...rest] = call.words;
  const subject = rightsSubject.safeParse(who);
  if (!subject.success || profile === "" || rest.length > 0)
    return misuse(
      call,
      "rights give needs whom and a profile. Whom: groups, webhooks, schedules, children, editors, webhook:NAME, schedule:ID or lane:LANE.",
    );
  const result = await call.client.assignRights({
    body: { subject: subject.data, profile: profile === "default" ? null : profile },
  });
  if (!result.ok) return failed(call, result);
  call.terminal.print(
    cleanLine(profile === "default" ? `${who}: the default` : `${who}: ${profile}`),
  );
  return exit.done;
}
