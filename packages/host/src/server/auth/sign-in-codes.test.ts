import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";
import { owner } from "./authenticator.ts";
import { openSignInCodes } from "./sign-in-codes.ts";

test("[safety] of too many sign-in codes the one that ends first goes, and each works once", async () => {
  const codes = openSignInCodes({
    store: createReferenceStore(),
    owner,
    tokenDigest: "token",
    now: () => 1_000,
  });
  // The third ends before all others.
  for (let each = 0; each < 101; each += 1)
    await codes.add(`code ${each}`, each === 2 ? 1_500 : 2_000 + each);
  expect(await codes.take("code 2")).toBe(false);
  expect(await codes.take("code 0")).toBe(true);
  expect(await codes.take("code 100")).toBe(true);
  expect(await codes.take("code 100")).toBe(false);
});
