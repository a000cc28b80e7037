export { prepareHome } from "./home.ts";
export { type ConfigSources, readConfig } from "./read.ts";
export {
  type Config,
  flagOf,
  type Settled,
  settingNames,
  settings,
  type Source,
  type Surroundings,
  variableOf,
} from "./settings.ts";
