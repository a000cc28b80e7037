import { Chat } from "@ai-sdk/react";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { DefaultChatTransport, type UIMessage } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { openApi } from "../../../test/support/api-rig.ts";

test("the pages that an answer rests on are source parts, each once, also in a replay", async () => {
  const pages = ["https://a.example/", "https://b.example/x", "https://b.example/x"];
  const sources = pages.map((url, index) => ({ url, title: `Page ${index}` }));
  const search = createTool("web_search", async () => ({
    ...okResult("Found."),
    details: { sources },
  }));
  const call = calls("web_search", "tides");
  const script = [call, says("High water."), call, says("See [it](https://b.example/x).")];
  const rig = openApi(script, { tools: [search] });
  onTestFinished(() => rig.close());
  const openChat = () =>
    new Chat({
      id: "chat-1",
      transport: new DefaultChatTransport({
        api: "http://127.0.0.1/ai/chat",
        headers: { authorization: rig.bearer["authorization"]! },
        fetch: async (url, init) => rig.app.request(new Request(url, init), undefined, {}),
      }),
    });
  const sourcesOf = (message: UIMessage | undefined) =>
    message?.parts.filter(({ type }) => type === "source-url");
  const [first, second] = sources.map(({ url, title }) => {
    return { type: "source-url", sourceId: url, url, title };
  });
  const chat = openChat();
  await chat.sendMessage({ text: "When?" });
  expect(sourcesOf(chat.messages[1])).toEqual([first, second]);
  await chat.sendMessage({ text: "And there?" });
  expect(sourcesOf(chat.messages[3])).toEqual([second]);
  const late = openChat();
  await late.resumeStream();
  expect(sourcesOf(late.messages[0])).toEqual([second]);
});
