import type { RunnerDeps } from "@holdfast/engine";
import { createRunner } from "../rigs/run-rig.ts";
import { type MemoryRigOptions, NotedMemory, openMemory } from "../rigs/memory-rig.ts";
import { openSession } from "../fixtures/open-session.ts";
import { says, scriptedModel } from "../fakes/scripted-model.ts";

import type { RunBed, Said } from "./contract-rig.ts";

/** A session whose turns a runner completes, a keeper of its memory, and a provider that has to remember them. */
export async function openTalk(
  bed: RunBed,
  rest: MemoryRigOptions & Partial<Pick<RunnerDeps, "remembers" | "recall">> = {},
  model = scriptedModel(() => says("Noted.")),
) {
  const { remembers, recall, ...options } = rest;
  const memory = new NotedMemory("one");
  const rig = openMemory(bed.store, { log: bed.log, ...options });
  rig.turnTo(memory);
  const { keeper } = rig;
  const chat = await openSession(bed.store);
  const { owner, session } = chat;
  const deps = { remembers: remembers ?? rig.remembers, ...(recall && { recall }) };
  const runner = createRunner(bed.store, bed.log, { model, deps });
  return {
    memory,
    rig,
    keeper,
    chat,
    runner,
    /** Says something and waits for the answer: one completed turn. */
    turn: async (text: string): Promise<Said> => {
      const said = await bed.say(text, { chat });
      runner.poke(owner, session);
      await runner.idle();
      return said;
    },
    isDirty: () => keeper.isDirty(owner, session),
    commit: (handle?: NotedMemory) => keeper.commit(owner, session, handle),
    /** What the log says of its memory. */
    events: async () => (await chat.events()).filter(({ type }) => type.startsWith("memory.")),
  };
}
