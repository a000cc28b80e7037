import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import type { Client, Result } from "@holdfast/client";
import { modeOf, modeWords, sessionMode, type SessionView } from "@holdfast/protocol";
import { acpStrings } from "../strings/acp.ts";
import { invalidRequest, requestErrorFrom } from "./errors.ts";

/** What an editor can set for a session. Some editors know modes, some options: they get both. */
export interface SessionOptions {
  readonly configOptions: SessionConfigOption[];
  readonly modes: SessionModeState;
}

type SessionChoices = Pick<SessionView, "model" | "mode">;

/** Read anew each time: a key that is pasted on the page makes more models usable. */
export async function readOptions(
  client: Pick<Client, "listModels">,
  session: SessionChoices,
): Promise<SessionOptions> {
  const listed = await client.listModels();
  if (!listed.ok) throw requestErrorFrom(listed.error);
  const { usual, models } = listed.value;
  const model = session.model ?? usual;
  const names = models.filter(({ usable }) => usable).map(({ name }) => name);
  const modes = sessionMode.options.map((id) => ({ id, ...modeWords[id] }));
  return {
    configOptions: [
      {
        type: "select",
        id: "mode",
        name: acpStrings.options.mode,
        category: "mode",
        currentValue: modeOf(session),
        options: modes.map(({ id, label, help }) => ({
          value: id,
          name: label,
          description: help,
        })),
      },
      {
        type: "select",
        id: "model",
        name: acpStrings.options.model,
        category: "model",
        currentValue: model,
        options: [...new Set([model, ...names])].map((name) => ({ value: name, name })),
      },
    ],
    modes: {
      currentModeId: modeOf(session),
      availableModes: modes.map(({ id, label, help }) => ({ id, name: label, description: help })),
    },
  };
}

/** Changes one option of a session. The host checks the value. */
export async function setOption(
  client: Pick<Client, "changeSession">,
  { id }: SessionView,
  configId: string,
  value: unknown,
): Promise<SessionView> {
  const changed: Result<{ session: SessionView }> = await client.changeSession({
    params: { id },
    body: changeOf(configId, value),
  });
  if (!changed.ok) throw requestErrorFrom(changed.error);
  return changed.value.session;
}

function changeOf(configId: string, value: unknown) {
  if (configId === "model") {
    if (typeof value === "string") return { model: value };
    throw invalidRequest(acpStrings.options.modelNotText);
  }
  if (configId === "mode") {
    const mode = sessionMode.safeParse(value);
    if (mode.success) return { mode: mode.data };
    throw invalidRequest(acpStrings.options.badMode(sessionMode.options));
  }
  throw invalidRequest(acpStrings.options.unknown(JSON.stringify(configId)));
}
