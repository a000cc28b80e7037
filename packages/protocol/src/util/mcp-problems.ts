/** Problems of MCP servers that people add. */
export const mcpProblems = {
  mcp_server_configured: {
    status: 409,
    title: "An MCP server of this name is in the host's configuration.",
    next: "Change it there (mcp in config.json) and start the host again, or choose another name.",
  },
  mcp_confirmation_needed: {
    status: 409,
    title: "Adding this MCP server starts a program on the host.",
    next: "Read what will run, and confirm it.",
  },
  too_many_mcp_servers: {
    status: 409,
    title: "There are as many MCP servers as there can be.",
    next: "Remove one that is not needed any more.",
  },
  mcp_sign_in_failed: {
    status: 502,
    title: "The sign-in to this MCP server could not begin.",
    next: "Read why, check the server's address, and try again.",
  },
  mcp_client_needed: {
    status: 409,
    title: "The authorisation server of this MCP server lets no program register itself.",
    next: "Register Holdfast there, and sign in again with the client id that you got.",
  },
  mcp_no_address: {
    status: 409,
    title: "This host has no address that a browser could come back to.",
    next: 'Start it with "holdfast serve", and begin again.',
  },
} as const;
