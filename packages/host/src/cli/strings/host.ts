import { formatNumber, plural } from "@holdfast/protocol";

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

/** Every text of `holdfast serve`, `config`, `secrets`, `bench`, `mcp` and `completion`. A translation replaces these tables. */
export const serveStrings = {
  about:
    "Serves the page and the API until you stop it. The first Ctrl-C stops it in order; runs that are not finished continue with the next host.",
  examples: {
    serve: "print the address, and a link that signs a browser in once",
    port: "on another port",
    postgres: "several machines can serve one database",
    provider: "with a provider; without one the rehearsal model answers",
  },
  address: (link: string) => `Holdfast is at ${link} (signs you in once, within 10 minutes)`,
  works: (roles: readonly string[], address: string) =>
    `Holdfast works as ${roles.join(" and ")}; its health is at ${address}health`,
  alreadyRunning: (url: string) =>
    `Holdfast is already running on this home, at ${url}. Use that one ("holdfast chat" finds it by itself), or choose another port with HOLDFAST_PORT to serve beside it.`,
  otherRunning: (url: string) =>
    `Another Holdfast, with a home of its own, is already running at ${url}. To serve beside it, choose another port with HOLDFAST_PORT.`,
} as const;

export const configStrings = {
  about:
    "Shows every setting, its value and where that comes from: a flag, the environment, a file in the home, or the default. set and unset change config.json in the home; secrets go to config.secret.json, which only you can read. A running host uses a change after a restart.",
  flags: { json: "print them as JSON; secrets stay hidden" },
  examples: {
    show: "every setting, and where it comes from",
    set: "from the next start on",
    secret: "kept apart, readable by you alone",
    schema: 'name this file in config.json as "$schema"',
  },
  unknownSetting: (name: string, nearest: string) =>
    `"${name}" is not a setting. Did you mean ${nearest}? holdfast config lists them.`,
  settingMissing: (action: string) =>
    `Name a setting: holdfast config ${action} model. holdfast config lists them.`,
  mustBe: (name: string, allowed: string) => `${name} must be ${allowed}.`,
  changed: {
    set: (name: string, path: string) => `${name} is set in ${path}.`,
    unset: (name: string, path: string) => `${name} is no longer set in ${path}.`,
  },
  hidden: "(hidden)",
} as const;

export const secretsStrings = {
  about:
    "Stored keys and the password's hash are encrypted. The key that opens them is in HOLDFAST_SECRETS_KEY or in secrets.key in the home, and never in a backup.\n\nWithout an argument this lists the names, and marks those that the key cannot open. rotate makes a new key and encrypts everything with it; running hosts pick it up. If the key is in the environment, first set HOLDFAST_SECRETS_KEY to the new key, a space and the old key, and remove the old key afterwards.",
  examples: {
    list: "what is stored, without the values",
    rotate: "make a new key, for example after a home was copied",
  },
  none: "No secrets are stored.",
  unreadable: (name: string) => `${name}  (this key cannot open it)`,
  rotated: (count: number) =>
    plural(count, {
      one: "# secret encrypted with a new key.",
      other: "# secrets encrypted with a new key.",
    }),
} as const;

export const benchStrings = {
  about:
    "Measures, for a few seconds, how many durable commits a second this disk and SQLite can do: one after the other, and many at once. It works in a folder of its own in the home and removes it. The whole benchmark, with baselines and tables, is in the repository: npm run bench -- --help",
  examples: { bench: "two lines: one after the other, and many at once" },
  oneByOne: "one after the other",
  atOnce: (writers: number) => `${formatNumber(writers)} at once`,
  rate: (label: string, perSecond: number) =>
    `${label.padEnd(20)} ${formatNumber(perSecond)} durable commits a second`,
} as const;

export const mcpStrings = {
  about:
    "An MCP client starts this command. It can then list, search and read sessions, send the agent messages, follow them as tasks, and set schedules. Messages go to the running host; if there is none, this command is the host until the client leaves.",
  examples: {
    mcp: "what an MCP client starts",
    key: "with the rights of an API key",
  },
  notJson: "Expected JSON on each line.",
  notAMessage: "Expected one JSON-RPC message on each line.",
  hostStopped: "The host stopped before it answered. Repeat the request; nothing is done twice.",
  noAnswer: (reason: string) =>
    `The host does not answer (${reason}). Start it with "holdfast serve" and repeat the request.`,
} as const;

export const completionStrings = {
  about:
    "Prints a script that completes commands, flags and their values in your shell. Sessions and models come from the host that serves this home, if one runs; pressing Tab never starts one. Print the script again after an update.",
  examples: {
    bash: "for this shell; put it into ~/.bashrc for all of them",
    zsh: "into a folder of your fpath",
    fish: "for fish",
  },
  whichShell: (shells: readonly string[]) =>
    `Name your shell, ${anyOf.format(shells)}: holdfast completion bash`,
} as const;
