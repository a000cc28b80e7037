import type { Config } from "../../ops/config/settings.ts";
import { createModels, type Models } from "./registry.ts";
import { openSecrets, type Secrets } from "../../ops/secrets/secrets.ts";

/** The models that the settings, the environment and the stored keys give. A provider is loaded when it is first asked. */
export function openModels(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  report: (error: Error) => void,
): { readonly models: Models; readonly secrets: Secrets } {
  const secrets = openSecrets(config.home.value, report);
  return { secrets, models: createModels({ config, environment, secrets }) };
}
