import type { Config } from "./config/index.ts";
import { createModels, type Models } from "./models/index.ts";
import { openSecrets, type Secrets } from "./secrets/index.ts";

/** The models that the settings, the environment and the stored keys give. A provider is loaded when it is first asked. */
export function openModels(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  report: (error: Error) => void,
): { readonly models: Models; readonly secrets: Secrets } {
  const secrets = openSecrets(config.home.value, report);
  return { secrets, models: createModels({ config, environment, secrets }) };
}
