import type { PageSettingName } from "@holdfast/protocol";
import { modelProblem } from "../../server/api/models.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { ApiDeps } from "../../server/api/deps.ts";
import type { Route } from "../../server/http/routing.ts";
import { isDisabled } from "./disabled-tools.ts";

export function settingRoutes(deps: ApiDeps): Route[] {
  const { pageSettings, models, listTools } = deps;

  async function list() {
    await pageSettings.refresh();
    const disabled = pageSettings.config.disabledTools.value;
    const tools = (await listTools()).map(({ name, description }) => ({
      name,
      description,
      enabled: !isDisabled(name, disabled),
    }));
    return answer({ settings: [...pageSettings.list()], tools });
  }

  async function change(
    name: PageSettingName,
    value: Call<"putSetting">["body"]["value"] | undefined,
  ) {
    const changed = await pageSettings.change(name, value);
    switch (changed.kind) {
      case "changed":
        return answer({ setting: pageSettings.view(name) });
      case "configured":
        return problem("setting_configured", {
          detail: `${name} is set in ${changed.where}, which takes precedence.`,
        });
      case "invalid":
        return problem("invalid_request", {
          errors: [{ path: "body.value", message: changed.message }],
        });
    }
  }

  return [
    mountCall(deps, "listSettings", list),
    mountCall(deps, "putSetting", async ({ params: { name }, body: { value } }) => {
      const isModel = name === "model" || name === "smallModel";
      const unusable = isModel && typeof value === "string" ? modelProblem(models, value) : null;
      return unusable ?? change(name, value);
    }),
    mountCall(deps, "deleteSetting", async ({ params: { name } }) => change(name, undefined)),
  ];
}
