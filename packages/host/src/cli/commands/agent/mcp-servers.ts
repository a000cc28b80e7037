import {
  fieldErrors,
  type McpServerBody,
  type McpServerView,
  programText,
  routes,
} from "@holdfast/protocol";
import {
  type ActionCall,
  failed,
  misuse as misuseOf,
  printList,
  runAction,
  say,
  sayChange,
  sayReread,
} from "../../actions.ts";
import { type Command, exit, hasFlag, textFlag } from "../../command.ts";
import { cleanLine } from "../../screen/text.ts";
import { mcpServersStrings as texts } from "../../strings/mcp-servers.ts";
import { programStrings } from "../../strings/program.ts";

export const mcpServers: Command = {
  usage: [
    "mcp-servers [list]",
    "mcp-servers add <name> <url> [--header <name=VARIABLE>]",
    "mcp-servers add <name> [--env <VARIABLE,…>] [--cwd <folder>] [--network none|host] [--yes] -- <program> [arguments]",
    "mcp-servers on <name>",
    "mcp-servers off <name>",
    "mcp-servers remove <name>",
    "mcp-servers sign-in <name> [--client-id <id>] [--client-secret <VARIABLE>]",
    "mcp-servers sign-out <name>",
  ],
  about: texts.about,
  flags: {
    header: { type: "string", value: "name=VARIABLE,…", about: texts.flags.header },
    env: { type: "string", value: "VARIABLE,…", about: texts.flags.env },
    cwd: { type: "string", value: "folder", about: texts.flags.cwd },
    network: { type: "string", value: "none|host|names", about: texts.flags.network },
    "client-id": { type: "string", value: "id", about: texts.flags.clientId },
    "client-secret": { type: "string", value: "VARIABLE", about: texts.flags.clientSecret },
    yes: { type: "boolean", about: texts.flags.yes },
    json: { type: "boolean", about: programStrings.flags.json },
  },
  examples: [
    ["holdfast mcp-servers add wiki https://wiki.example.org/mcp", texts.examples.web],
    [
      "holdfast mcp-servers add wiki https://wiki.example.org/mcp --header Authorization=WIKI_AUTH",
      texts.examples.header,
    ],
    ["holdfast mcp-servers add files --yes -- mcp-server-filesystem /srv", texts.examples.program],
    ["holdfast mcp-servers off wiki", texts.examples.off],
    ["holdfast mcp-servers sign-in wiki", texts.examples.signIn],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "mcp-servers", usual: "list", actions }),
};

const actions = {
  list,
  add,
  remove,
  on: (call: ActionCall) => turn(call, "on"),
  off: (call: ActionCall) => turn(call, "off"),
  "sign-in": signIn,
  "sign-out": signOut,
};

function misuse(call: ActionCall, sentence: string): number {
  return misuseOf(call, texts.seeHelp(sentence));
}

async function list(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const listed = await client.listMcpServers();
  if (!listed.ok) return failed(call, listed);
  const { servers } = listed.value;
  await printList(call, servers, cellsOf);
  if (servers.length === 0) terminal.printError(texts.none);
  return exit.done;
}

function cellsOf({
  name,
  state,
  switch: turned,
  tools,
  lastError,
  ...server
}: McpServerView): string[] {
  const marks = [
    ...(server.signIn === "none" ? [] : [signInMark(name, server.signIn)]),
    server.connectedBy === "configuration" ? texts.inConfiguration : texts.addedHere,
    ...(server.hidesAdded ? [texts.hidesAdded] : []),
    ...(state !== "ready" && lastError !== null ? [lastError] : []),
  ];
  const connected =
    state === "ready" ? texts.ready(texts.tools(tools.length)) : texts.states[state];
  return [name, turned === "off" ? texts.off : connected, server.target, marks.join("; ")];
}

function signInMark(name: string, state: McpServerView["signIn"]): string {
  return state === "done" ? texts.signedIn : texts.needsSignIn(name);
}

type ReadBody = { readonly body: McpServerBody } | { readonly sentence: string };

async function add(call: ActionCall): Promise<number> {
  const { client, given, words } = call;
  const [name, first, ...rest] = words;
  if (name === undefined || first === undefined) return misuse(call, texts.needsTarget);
  const isWeb = /^https?:\/\//i.test(first);
  if (isWeb && rest.length > 0) return misuse(call, texts.oneAddress);
  const read = isWeb ? readWeb(call, first) : readProgram(call, first, rest);
  if ("sentence" in read) return misuse(call, read.sentence);
  const parsed = routes.putMcpServer.body.safeParse(read.body);
  if (!parsed.success) {
    const [error] = fieldErrors(parsed.error);
    return misuse(call, programStrings.field(error?.path ?? "", error?.message ?? ""));
  }
  const body = parsed.data;
  const isProgram = body.command !== undefined;
  if (isProgram) {
    say(call, texts.willStart(programText(body)));
    if (!hasFlag(given, "yes")) {
      await sayReread(call);
      return misuse(call, texts.confirmStart);
    }
  }
  const confirmed = isProgram ? { ...body, confirm: programText(body) } : body;
  const added = await client.putMcpServer({ params: { name }, body: confirmed });
  if (!added.ok) return failed(call, added);
  return sayChange(call, texts.added(added.value.server.name));
}

/** The values of variables of this shell: in an argument they would be in the list of processes and in its history. */
function readVariables(
  { terminal }: ActionCall,
  pairs: readonly (readonly [string, string])[],
): { readonly values: Record<string, string> } | { readonly sentence: string } {
  const values: Record<string, string> = {};
  for (const [name, variable] of pairs) {
    const value = terminal.environment[variable];
    if (value === undefined || value === "")
      return { sentence: texts.variableMissing(cleanLine(variable)) };
    values[name] = value;
  }
  return { values };
}

const parts = (text: string | undefined): readonly string[] =>
  (text ?? "").split(",").filter((part) => part !== "");

function readWeb(call: ActionCall, url: string): ReadBody {
  const pairs = parts(textFlag(call.given, "header")).map((part) => {
    const [name = "", variable = ""] = part.split("=", 2);
    return [name, variable] as const;
  });
  if (pairs.some((pair) => pair.includes(""))) return { sentence: texts.badHeader };
  const read = readVariables(call, pairs);
  if ("sentence" in read) return read;
  return { body: { url, ...(pairs.length > 0 && { headers: read.values }) } };
}

function readProgram(call: ActionCall, command: string, args: readonly string[]): ReadBody {
  const { given } = call;
  const [cwd, network] = [textFlag(given, "cwd"), textFlag(given, "network")];
  const names = parts(textFlag(given, "env"));
  const read = readVariables(
    call,
    names.map((name) => [name, name] as const),
  );
  if ("sentence" in read) return read;
  return {
    body: {
      command,
      ...(args.length > 0 && { args: [...args] }),
      ...(names.length > 0 && { env: read.values }),
      ...(cwd !== undefined && { cwd }),
      ...(network !== undefined && {
        sandbox: {
          network: network === "none" || network === "host" ? network : [...parts(network)],
        },
      }),
    },
  };
}

async function turn(call: ActionCall, to: "on" | "off"): Promise<number> {
  const [name] = call.words;
  if (name === undefined) return misuse(call, texts.nameMissing);
  const turned = await call.client.changeMcpServer({ params: { name }, body: { switch: to } });
  if (!turned.ok) return failed(call, turned);
  return sayChange(call, texts.switched[to](name));
}

async function remove(call: ActionCall): Promise<number> {
  const [name] = call.words;
  if (name === undefined) return misuse(call, texts.nameMissing);
  const removed = await call.client.removeMcpServer({ params: { name } });
  if (!removed.ok) return failed(call, removed);
  return sayChange(call, texts.removed(name));
}

async function signIn(call: ActionCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const [name] = words;
  if (name === undefined) return misuse(call, texts.nameMissing);
  const clientId = textFlag(given, "client-id");
  const variable = textFlag(given, "client-secret");
  const read = readVariables(call, variable === undefined ? [] : [["secret", variable]]);
  if ("sentence" in read) return misuse(call, read.sentence);
  const { secret } = read.values;
  const body = {
    ...(clientId !== undefined && { clientId }),
    ...(secret !== undefined && { clientSecret: secret }),
  };
  const begun = await client.signInToMcpServer({ params: { name }, body });
  if (!begun.ok) return failed(call, begun);
  terminal.print(texts.openLink);
  return say(call, begun.value.link);
}

async function signOut(call: ActionCall): Promise<number> {
  const [name] = call.words;
  if (name === undefined) return misuse(call, texts.nameMissing);
  const gone = await call.client.signOutOfMcpServer({ params: { name } });
  if (!gone.ok) return failed(call, gone);
  return say(call, texts.signedOut(name));
}
