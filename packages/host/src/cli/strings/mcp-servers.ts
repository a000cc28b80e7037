import { plural } from "@holdfast/protocol";

/** Every text of `holdfast mcp-servers`. A translation replaces this table. */
export const mcpServersStrings = {
  about:
    "MCP servers give every agent tools. Some are in config.json; others you add here or on the page, and they work at once on every host of the store. Values of headers and variables are read from this shell and stored encrypted. The host starts a program, so this command shows it first and needs --yes.",
  flags: {
    header: "headers to send, with the variables of this shell that hold their values",
    env: "variables of this shell that the program gets",
    cwd: "the folder that the program runs in",
    network: "what the program can reach: none, host (everything), or host names with commas",
    clientId: "a client that you registered, for a server that registers none by itself",
    clientSecret: "the variable of this shell that holds the client's secret",
    yes: "let the host start this program",
  },
  examples: {
    web: "a server that speaks HTTP",
    header: "with a header; its value, such as “Bearer …”, is in the variable WIKI_AUTH",
    program: "a program that the host starts",
    off: "keep it, but do not connect; on brings it back",
    signIn: "print a link to open in a browser",
  },
  none: "No MCP servers yet. To add one: holdfast mcp-servers add <name> <url>",
  tools: (count: number) => plural(count, { one: "# tool", other: "# tools" }),
  ready: (tools: string) => `ready, ${tools}`,
  off: "off",
  states: {
    ready: "ready",
    starting: "starting",
    away: "not reachable",
    stopped: "not connected",
  },
  signedIn: "signed in",
  needsSignIn: (name: string) => `needs a sign-in: holdfast mcp-servers sign-in ${name}`,
  inConfiguration: "in config.json",
  addedHere: "added",
  hidesAdded: "used instead of the added server of this name",
  needsTarget: "Give a name, and a web address or a program.",
  oneAddress: "Give one web address only.",
  willStart: (program: string) => `The host will start: ${program}`,
  confirmStart: "If you agree, add --yes before the --.",
  variableMissing: (variable: string) =>
    `The variable ${variable} is not set in this shell. Set it first, then repeat the command.`,
  badHeader: "Write a header as NAME=VARIABLE, for example --header Authorization=WIKI_AUTH.",
  nameMissing: "Name a server; holdfast mcp-servers lists them.",
  seeHelp: (sentence: string) => `${sentence} Examples: holdfast mcp-servers --help`,
  added: (name: string) => `Added: ${name}`,
  switched: {
    on: (name: string) => `Switched on: ${name}`,
    off: (name: string) => `Switched off: ${name}`,
  },
  removed: (name: string) => `Removed: ${name}`,
  openLink: "Open this link in a browser within ten minutes, and sign in there:",
  signedOut: (name: string) => `Signed out: ${name}`,
} as const;
