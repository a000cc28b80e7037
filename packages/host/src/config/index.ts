export { type Role, roleNames } from "./operation-settings.ts";
export { changeSetting } from "./change.ts";
export { isSecret } from "./files.ts";
export { prepareHome } from "./home.ts";
export { plainFile, readConfig, secretFile } from "./read.ts";
export { configSchema } from "./schema.ts";
export {
  type Config,
  flagOf,
  isPostgres,
  type SettingName,
  settingNames,
  settings,
  type Source,
  variableOf,
} from "./settings.ts";
export { settingsTable } from "./table.ts";
export type { McpServer, McpServers, SecretValue } from "./mcp-servers.ts";
