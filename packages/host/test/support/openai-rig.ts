import type { Script } from "@holdfast/testing/fakes/scripted-model";
import OpenAI from "openai";
import { onTestFinished } from "vitest";

import { listen } from "../../src/server/http/server.ts";
import { type ApiRig, type ApiRigOptions, openApi } from "./api-rig.ts";

export interface OpenAiRig extends ApiRig {
  readonly baseURL: string;
  readonly openai: OpenAI;
}

export const testToken = "a-token-for-this-test";

/** The API on a real port, with OpenAI's own client. */
export async function openOpenAi(script: Script, options: ApiRigOptions = {}): Promise<OpenAiRig> {
  const rig = openApi(script, options);
  const listening = await listen(rig.app, { host: "127.0.0.1", port: 0 });
  if (!listening.ok) throw new Error(listening.failure.message);
  const listener = listening.value;
  onTestFinished(async () => {
    rig.closeStreams();
    await listener.close();
    await rig.close();
  });
  const baseURL = `http://127.0.0.1:${listener.port}/v1`;
  return { ...rig, baseURL, openai: new OpenAI({ apiKey: testToken, baseURL }) };
}
