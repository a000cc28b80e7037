import type { Register } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";
import { z } from "zod";
import { openCachedRegister } from "./cached-register.ts";

const owner = ownerId.parse("owner");

test("what this process stored stays, although an older read ends after it", async () => {
  const { register } = createReferenceStore();
  let hold: Promise<void> = Promise.resolve();
  const held: Register = {
    ...register,
    async list(...asked) {
      const found = await register.list(...asked);
      await hold;
      return found;
    },
  };
  const here = openCachedRegister({
    register: held,
    owner,
    prefix: "color/",
    schema: z.string(),
    maxRows: 9,
  });
  await here.change(() => ({ name: "sky", value: "blue" }));

  const { promise, resolve } = Promise.withResolvers<void>();
  let older: Promise<void> = Promise.resolve();
  await here.change(() => {
    // The change has read. This read begins before the change is stored, and ends after it.
    hold = promise;
    older = here.reload();
    return { name: "sky", value: "grey" };
  });
  resolve();
  await older;
  expect(here.rows()).toEqual([{ name: "sky", value: "grey", revision: 2 }]);
});
