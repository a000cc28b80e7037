import { beforeEach, describe, expect, test } from "vitest";
import {
  connectMcp,
  type Generation,
  overHttp,
  overStdio,
  runAnswer,
  shownText,
} from "./mcp-client.ts";
import { requirePage } from "./page/require-page.ts";
import { serveWithClient } from "./served-host.ts";

beforeEach(requirePage);

const generations: readonly Generation[] = ["2026-07-28", "2025-11-25"];

describe.each(generations)("an MCP client of %s", (generation) => {
  test.each(["HTTP", "stdio"] as const)(
    "over %s gives the agent a message, and lists, finds and reads the session",
    async (kind) => {
      const { address, token, home } = await serveWithClient();
      const transport = kind === "HTTP" ? overHttp(address, token) : overStdio(home);
      const client = await connectMcp(transport, generation);
      expect(client.getNegotiatedProtocolVersion()).toBe(generation);

      const call = { text: "Say it again: marzipan {echo}", message_id: "first" };
      const progress: unknown[] = [];
      const first = await client.callTool(
        { name: "session_send", arguments: call },
        { onprogress: (step) => progress.push(step) },
      );
      const { session_id, run_id, state, text } = runAnswer(first);
      expect([state, text]).toEqual(["completed", shownText(first)]);
      expect(text).toContain("marzipan");
      expect(progress).not.toEqual([]);
      const again = await client.callTool({ name: "session_send", arguments: call });
      expect(runAnswer(again)).toMatchObject({ session_id, run_id, text });

      const listed = await client.callTool({ name: "sessions_list", arguments: {} });
      expect(listed.structuredContent).toMatchObject({ sessions: [{ session_id, messages: 2 }] });
      const search = { name: "sessions_search", arguments: { query: "marzipan" } };
      await expect.poll(async () => shownText(await client.callTool(search))).toContain(session_id);
      const read = await client.callTool({ name: "session_read", arguments: { session_id } });
      expect(read.structuredContent).toMatchObject({
        messages: [{ role: "user" }, { role: "assistant", run_id, text }],
      });

      const { resources } = await client.listResources();
      expect(resources).toMatchObject([{ uri: `holdfast://session/${session_id}` }]);
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates).toMatchObject([{ uriTemplate: "holdfast://session/{id}" }]);
      const { contents } = await client.readResource({ uri: resources[0]!.uri });
      expect(contents).toMatchObject([{ mimeType: "text/markdown" }]);
      expect(JSON.stringify(contents)).toContain("marzipan");
    },
  );
});
