export { type Role, roleNames } from "./operation-settings.ts";
export { prepareHome } from "./home.ts";
export { readConfig } from "./read.ts";
export {
  type Config,
  flagOf,
  isPostgres,
  type SettingName,
  settingNames,
  settings,
  variableOf,
} from "./settings.ts";
export type { McpServer, McpServers, SecretValue } from "./mcp-servers.ts";
