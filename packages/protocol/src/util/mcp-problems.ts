/** Problems of MCP servers that people add. */
export const mcpProblems = {
  mcp_server_configured: {
    status: 409,
    title: "An MCP server with this name is set in the host's configuration.",
    next: "Change it there (mcp in config.json) and restart the host, or choose another name.",
  },
  mcp_confirmation_needed: {
    status: 409,
    title: "Adding this MCP server starts a program on the host.",
    next: "Read what will run, and confirm it.",
  },
  too_many_mcp_servers: {
    status: 409,
    title: "32 MCP servers have been added, which is the limit.",
    next: "Remove one that is no longer needed.",
  },
  mcp_sign_in_failed: {
    status: 502,
    title: "The sign-in to this MCP server could not begin.",
    next: "Read the reason, check the server's address, and try again.",
  },
  mcp_client_needed: {
    status: 409,
    title: "The authorisation server of this MCP server does not let programs register themselves.",
    next: "Register Holdfast there, and sign in again with the client id that you get.",
  },
  mcp_no_address: {
    status: 409,
    title: "This host has no address that a browser could return to.",
    next: 'Start it with "holdfast serve", and begin again.',
  },
} as const;
