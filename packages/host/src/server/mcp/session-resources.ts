import { describeError } from "@holdfast/client";
import { sessionId } from "@holdfast/protocol";
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import type { McpCaller } from "./caller.ts";

const prefix = "holdfast://session/";
const pageSize = 50;

/** Sessions as resources: each is the whole conversation as Markdown. */
export function registerSessionResources({ server }: McpServer, { client }: McpCaller): void {
  server.registerCapabilities({ resources: {} });

  server.setRequestHandler("resources/list", async ({ params }) => {
    const listed = await client.listSessions({
      query: { limit: pageSize, ...(params?.cursor !== undefined && { cursor: params.cursor }) },
    });
    if (!listed.ok)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, describeError(listed.error), {
        code: listed.error.code,
      });
    const { sessions, nextCursor } = listed.value;
    return {
      resources: sessions.map(({ id, title, preview, activityAt }) => ({
        uri: prefix + id,
        name: id,
        title: title ?? preview,
        mimeType: "text/markdown",
        annotations: { lastModified: new Date(activityAt).toISOString() },
      })),
      ...(nextCursor !== null && { nextCursor }),
    };
  });

  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: [
      {
        uriTemplate: `${prefix}{id}`,
        name: "session",
        title: "A conversation with the agent",
        mimeType: "text/markdown",
      },
    ],
  }));

  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const id = uri.startsWith(prefix) ? sessionId.safeParse(uri.slice(prefix.length)) : undefined;
    if (id?.success !== true) throw new ResourceNotFoundError(uri);
    const exported = await client.exportSession({
      params: { id: id.data },
      query: { format: "md", versions: "shown" },
    });
    if (exported.ok)
      return { contents: [{ uri, mimeType: "text/markdown", text: exported.value }] };
    if (exported.error.code === "session_not_found") throw new ResourceNotFoundError(uri);
    throw new ProtocolError(ProtocolErrorCode.InternalError, describeError(exported.error), {
      code: exported.error.code,
    });
  });
}
