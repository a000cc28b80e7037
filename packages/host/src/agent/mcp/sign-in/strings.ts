/** What people read in the browser while they sign in to an MCP server, and in notices about it. */
export const signInStrings = {
  ask: (name: string) => `Sign in to the MCP server ${name}?`,
  askLead: (origin: string) =>
    `Holdfast then uses the tools of ${origin} with the account that you choose there. Only go on if you asked for this.`,
  go: "Continue to the sign-in",
  signedIn: (name: string) => `Signed in to ${name}`,
  signedInLead:
    "You can close this window. Agents get the server's tools from their next answer on.",
  failed: (name: string) => `The sign-in to ${name} did not work`,
  unknown: "This sign-in is not known",
  oldLink: "This link is no longer valid",
  again: "Begin again: open Settings, MCP servers on the page of Holdfast, and choose Sign in.",
  clientNeeded: (redirectUri: string) =>
    `Its authorisation server does not let programs register themselves. Register Holdfast there with the redirect address ${redirectUri}, and sign in on the page or with "holdfast mcp-servers sign-in" with the client id that you got.`,
  noAddress: 'This host has no address for browsers: start it with "holdfast serve".',
  storeAway: "Holdfast cannot store the sign-in right now",
  needed: (names: string) =>
    `The MCP server ${names} needs you to sign in before its tools can be used.`,
  neededElsewhere: (names: string) =>
    `The MCP server ${names} needs a sign-in by the owner of this host: Settings, MCP servers.`,
} as const;
