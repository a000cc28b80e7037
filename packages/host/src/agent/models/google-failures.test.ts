import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { expect, onTestFinished, test } from "vitest";

import {
  failureIn,
  openServerWith,
  openWire,
  requestOf,
  unaborted,
  user,
  wires,
} from "../../../test/support/providers/provider-rig.ts";
import { refuses } from "@holdfast/testing/host/providers/provider-server";

const google = wires.filter(({ provider }) => provider === "google");

test.each(google)(
  "$title reports a bad key as an invalid request, the retry delay in its message, and an overlong conversation",
  async (wire) => {
    const error = (code: number, status: string, message: string) =>
      refuses(code, { error: { code, message, status } });
    const server = await openServerWith([
      error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
      error(429, "RESOURCE_EXHAUSTED", "Quota exceeded. Please retry in 12.5s."),
      error(
        400,
        "INVALID_ARGUMENT",
        "The input token count exceeds the maximum number of tokens allowed.",
      ),
    ]);
    onTestFinished(() => server[Symbol.asyncDispose]());
    const ask = () => readToEnd(openWire(wire, server).stream(requestOf(user("Hi")), unaborted()));
    expect(failureIn(await ask())).toMatchObject({ class: "auth", code: "model_unauthorized" });
    expect(failureIn(await ask())).toMatchObject({ class: "overloaded", retryAfterMs: 12_500 });
    expect(failureIn(await ask())).toMatchObject({ class: "overflow", code: "model_overflow" });
  },
);
