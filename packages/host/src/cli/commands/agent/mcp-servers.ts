import { type Client, describeError, type Result } from "@holdfast/client";
import {
  fieldErrors,
  type McpServerBody,
  type McpServerView,
  programText,
  routes,
} from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanJson, cleanLine } from "../../screen/text.ts";

interface ServersCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  /** What follows the action. */
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: ServersCall) => Promise<number>>> = {
  list,
  add,
  remove,
  on: (call) => turn(call, "on"),
  off: (call) => turn(call, "off"),
  "sign-in": signIn,
  "sign-out": signOut,
};

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
  about: [
    "MCP servers, whose tools every agent has: those in config.json, and those added here or on the page, which take effect",
    "at once on every host of the store. Values of headers and variables are read from this command's environment, and",
    "stored encrypted. A program is started by the host, so it is shown first and added with --yes.",
  ].join("\n"),
  flags: {
    header: {
      type: "string",
      value: "name=VARIABLE,…",
      about: "headers to send, and the variables of this shell that hold their values",
    },
    env: {
      type: "string",
      value: "VARIABLE,…",
      about: "variables of this shell that the program gets",
    },
    cwd: { type: "string", value: "folder", about: "the folder that the program runs in" },
    network: {
      type: "string",
      value: "none|host|names",
      about: "what the program reaches: nothing, everything (host), or host names with commas",
    },
    "client-id": {
      type: "string",
      value: "id",
      about: "a client that you registered, where the sign-in registers none by itself",
    },
    "client-secret": {
      type: "string",
      value: "VARIABLE",
      about: "the variable of this shell that holds the client's secret",
    },
    yes: { type: "boolean", about: "start this program on the host" },
    json: { type: "boolean", about: "a line of JSON for each" },
  },
  examples: [
    ["holdfast mcp-servers add wiki https://wiki.example.org/mcp", "over HTTP"],
    [
      "holdfast mcp-servers add wiki https://wiki.example.org/mcp --header Authorization=WIKI_AUTH",
      'with a header whose value, like "Bearer …", is in the variable WIKI_AUTH',
    ],
    ["holdfast mcp-servers add files --yes -- mcp-server-filesystem /srv", "a program on the host"],
    ["holdfast mcp-servers off wiki", "keeps it, but does not connect; on brings it back"],
    ["holdfast mcp-servers sign-in wiki", "prints a link to open in a browser"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [action = "list", ...words] = given.words;
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (run === undefined) {
      terminal.printError(
        `"mcp-servers ${cleanLine(action)}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => run({ client, terminal, given, words }));
  },
};

function failed({ terminal }: ServersCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

function misuse({ terminal }: ServersCall, sentence: string): number {
  terminal.printError(`${sentence} "holdfast mcp-servers --help" shows how.`);
  return exit.misuse;
}

async function list(call: ServersCall): Promise<number> {
  const { client, given, terminal } = call;
  const listed = await client.listMcpServers();
  if (!listed.ok) return failed(call, listed);
  for (const server of listed.value.servers)
    terminal.print(hasFlag(given, "json") ? cleanJson(server) : rowOf(server));
  return exit.done;
}

function rowOf({
  name,
  state,
  switch: turned,
  tools,
  lastError,
  ...server
}: McpServerView): string {
  const tooled = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}`;
  const marks = [
    ...(server.signIn === "none"
      ? []
      : [server.signIn === "done" ? "signed in" : "needs a sign-in"]),
    server.connectedBy === "configuration" ? "in config.json" : "added",
    ...(server.hidesAdded ? ["used instead of an added server of this name"] : []),
    ...(state !== "ready" && lastError !== null ? [lastError] : []),
  ];
  const shown = turned === "off" ? "off" : state === "ready" ? `ready, ${tooled}` : state;
  return [name, shown, server.target, marks.join("; ")].map(cleanLine).join("\t");
}

type ReadBody = { readonly body: McpServerBody } | { readonly sentence: string };

async function add(call: ServersCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const [name, first, ...rest] = words;
  if (name === undefined || first === undefined)
    return misuse(call, "Give a name and an address or a program.");
  const isWeb = /^https?:\/\//i.test(first);
  if (isWeb && rest.length > 0) return misuse(call, "Give one address.");
  const read = isWeb ? readWeb(call, first) : readProgram(call, first, rest);
  if ("sentence" in read) return misuse(call, read.sentence);
  const parsed = routes.putMcpServer.body.safeParse(read.body);
  if (!parsed.success) {
    const [error] = fieldErrors(parsed.error);
    return misuse(call, `${error?.path ?? "It"}: ${error?.message ?? "is not valid"}.`);
  }
  const body = parsed.data;
  const isProgram = body.command !== undefined;
  if (isProgram) {
    terminal.print(cleanLine(`The host will start: ${programText(body)}`));
    if (!hasFlag(given, "yes")) return misuse(call, "Add --yes before the -- to confirm that.");
  }
  const confirmed = isProgram ? { ...body, confirm: programText(body) } : body;
  const added = await client.putMcpServer({ params: { name }, body: confirmed });
  if (!added.ok) return failed(call, added);
  terminal.print(cleanLine(`Added: ${added.value.server.name}`));
  return exit.done;
}

/** The values of variables of this shell: in an argument they would be in the list of processes and in its history. */
function readVariables(
  { terminal }: ServersCall,
  pairs: readonly (readonly [string, string])[],
): { readonly values: Record<string, string> } | { readonly sentence: string } {
  const values: Record<string, string> = {};
  for (const [name, variable] of pairs) {
    const value = terminal.environment[variable];
    if (value === undefined || value === "")
      return {
        sentence: `The variable ${cleanLine(variable)} is not set in this shell. Set it first.`,
      };
    values[name] = value;
  }
  return { values };
}

const parts = (text: string | undefined): readonly string[] =>
  (text ?? "").split(",").filter((part) => part !== "");

function readWeb(call: ServersCall, url: string): ReadBody {
  const pairs = parts(textFlag(call.given, "header")).map((part) => {
    const [name = "", variable = ""] = part.split("=", 2);
    return [name, variable] as const;
  });
  if (pairs.some((pair) => pair.includes("")))
    return { sentence: "Give a header like Authorization=WIKI_AUTH." };
  const read = readVariables(call, pairs);
  if ("sentence" in read) return read;
  return { body: { url, ...(pairs.length > 0 && { headers: read.values }) } };
}

function readProgram(call: ServersCall, command: string, args: readonly string[]): ReadBody {
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

async function turn(call: ServersCall, to: "on" | "off"): Promise<number> {
  const [name] = call.words;
  if (name === undefined) return misuse(call, "Name a server.");
  const turned = await call.client.changeMcpServer({ params: { name }, body: { switch: to } });
  if (!turned.ok) return failed(call, turned);
  call.terminal.print(cleanLine(`Switched ${to}: ${name}`));
  return exit.done;
}

async function remove(call: ServersCall): Promise<number> {
  const [name] = call.words;
  if (name === undefined) return misuse(call, "Name a server.");
  const removed = await call.client.removeMcpServer({ params: { name } });
  if (!removed.ok) return failed(call, removed);
  call.terminal.print(cleanLine(`Removed: ${name}`));
  return exit.done;
}

async function signIn(call: ServersCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const [name] = words;
  if (name === undefined) return misuse(call, "Name a server.");
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
  terminal.print("Open this link in a browser within ten minutes, and sign in there:");
  terminal.print(cleanLine(begun.value.link));
  return exit.done;
}

async function signOut(call: ServersCall): Promise<number> {
  const [name] = call.words;
  if (name === undefined) return misuse(call, "Name a server.");
  const gone = await call.client.signOutOfMcpServer({ params: { name } });
  if (!gone.ok) return failed(call, gone);
  call.terminal.print(cleanLine(`Signed out: ${name}`));
  return exit.done;
}
