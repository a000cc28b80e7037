import type { RunnerDeps } from "@holdfast/engine";
import { createRunner } from "../rigs/run-rig.ts";
import { type MemoryRigOptions, RecordingMemory, openMemoryRig } from "../rigs/memory-rig.ts";
import { openTestSession } from "../fixtures/open-session.ts";
import { says, scriptedModel } from "../fakes/scripted-model.ts";

import type { ContractRig, SentMessage } from "./contract-rig.ts";

/** A session whose turns a runner completes, a committer of its memory, and a provider that has to remember them. */
export async function openMemorySession(
  contractRig: Pick<ContractRig, "store" | "log" | "send">,
  rest: MemoryRigOptions & Partial<Pick<RunnerDeps, "memoryOwnerOf" | "recall">> = {},
  model = scriptedModel(() => says("Noted.")),
) {
  const { memoryOwnerOf, recall, ...options } = rest;
  const memory = new RecordingMemory("one");
  const rig = openMemoryRig(contractRig.store, { log: contractRig.log, ...options });
  rig.turnTo(memory);
  const { committer } = rig;
  const chat = await openTestSession(contractRig.store);
  const { owner, session } = chat;
  const deps = { memoryOwnerOf: memoryOwnerOf ?? rig.remembers, ...(recall && { recall }) };
  const runner = createRunner(contractRig.store, contractRig.log, { model, deps });
  return {
    memory,
    rig,
    committer,
    chat,
    runner,
    /** Sends a message and waits for the answer: one completed turn. */
    turn: async (text: string): Promise<SentMessage> => {
      const said = await contractRig.send(text, { chat });
      runner.notify(owner, session);
      await runner.idle();
      return said;
    },
    isDirty: () => committer.isDirty(owner, session),
    commit: (handle?: RecordingMemory) => committer.commit(owner, session, handle),
    /** The memory events in the log. */
    events: async () => (await chat.events()).filter(({ type }) => type.startsWith("memory.")),
  };
}
