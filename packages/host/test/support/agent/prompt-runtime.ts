import { admitMessage, type Store } from "@holdfast/engine";
import { ids, type OwnerId, type SessionId } from "@holdfast/protocol";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";

import { openMemoryProviders } from "../../../src/agent/memory/providers.ts";
import { createAgentRuntime } from "../../../src/agent/runtime.ts";
import { createToolset } from "../../../src/agent/toolset.ts";
import { readConfig } from "../../../src/ops/config/read-config.ts";
import { modelsOf } from "../providers/models.ts";

/** The host's own engine with a scripted model. `say` resolves to the system prompt that the model got. */
export async function openPromptRuntime(store: Store, owner: OwnerId, home: string) {
  const config = readConfig({ flags: { home }, environment: {}, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const model = scriptedModel(() => says("Yes."));
  const toolset = createToolset(config.value, store);
  const {
    engine,
    personas,
    listTools: specs,
  } = await createAgentRuntime({
    config: config.value,
    store,
    models: modelsOf(model),
    memory: await openMemoryProviders(home, { choice: "off", facts: toolset.facts }),
    toolset,
    report: (bug) => {
      throw bug;
    },
  });
  const { runner, log } = engine;
  let said = 0;
  async function say(session: SessionId): Promise<string> {
    const clientId = `say-${(said += 1)}`;
    await admitMessage(log, ids, { owner, session, clientId, text: "Hello" });
    runner.notify(owner, session);
    await runner.idle();
    const [first] = assertPresent(model.requests.at(-1)).messages;
    return first?.role === "system" ? first.text : "";
  }
  const tools = new Set([...toolset.tools.keys(), "delegate"]);
  return { say, personas, tools, specs, stop: () => runner.stop() };
}
