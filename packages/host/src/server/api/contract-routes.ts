import { version } from "../../util/version.ts";
import type { Route } from "../http/route.ts";
import { mountCall, mountStream } from "./contract.ts";
import { describeApi } from "./api-docs.ts";
import { docsContentSecurityPolicy, renderDocsPage } from "./docs-page.ts";
import type { ApiDeps } from "./deps.ts";
import { answer } from "./reply.ts";

/** The contract itself, for machines and for people. Written when first asked for. */
export function apiDocsRoutes(parts: ApiDeps): Route[] {
  let described: ReturnType<typeof describeApi> | undefined;
  let page: string | undefined;
  return [
    mountCall(parts, "openapi", async () => {
      described ??= describeApi(version, parts.basePath ?? "");
      return answer(described);
    }),
    mountStream(parts, "apiDocs", async (_, c) => {
      page ??= renderDocsPage(version);
      return c.body(page, 200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": docsContentSecurityPolicy,
        "cache-control": "no-store",
      });
    }),
  ];
}
