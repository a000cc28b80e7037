import { version } from "../version.ts";
import type { Route } from "../http/index.ts";
import { mountCall, mountStream } from "./contract.ts";
import { describeApi } from "./openapi.ts";
import { docsPolicy, writeDocsPage } from "./docs-page.ts";
import type { ApiParts } from "./parts.ts";
import { answer } from "./reply.ts";

/** The contract itself, for machines and for people. Written when first asked for. */
export function contractRoutes(parts: ApiParts): Route[] {
  let described: ReturnType<typeof describeApi> | undefined;
  let page: string | undefined;
  return [
    mountCall(parts, "openapi", async () => {
      described ??= describeApi(version, parts.basePath ?? "");
      return answer(described);
    }),
    mountStream(parts, "apiDocs", async (_, c) => {
      page ??= writeDocsPage(version);
      return c.body(page, 200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": docsPolicy,
        "cache-control": "no-store",
      });
    }),
  ];
}
