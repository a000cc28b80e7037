import type { WebSearchProvider } from "@holdfast/protocol";
import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { searchKeyName } from "./web-search.ts";

export function webSearchRoutes(deps: ApiDeps): Route[] {
  const { webSearch, secrets } = deps;

  const view = (provider: WebSearchProvider) =>
    webSearch.list().filter((listed) => listed.provider === provider);

  async function putKey({ params: { provider }, body: { key } }: Call<"putSearchKey">) {
    const address = webSearch.keyAddress(provider);
    const keyFrom = { from: "stored" as const };
    const { state, detail } = await webSearch.check({ provider, address, key, keyFrom });
    if (state === "rejected")
      return problem("key_rejected", detail === undefined ? {} : { detail });
    await secrets.put(searchKeyName(provider), { key, baseUrl: address });
    return answer(undefined);
  }

  async function check({ params: { provider } }: Call<"checkSearchProvider">) {
    const account = webSearch.accountOf(provider);
    if (account !== null) await webSearch.check(account);
    return answer({ providers: view(provider) });
  }

  return [
    mountCall(deps, "listSearchProviders", async () =>
      answer({ providers: [...webSearch.list()] }),
    ),
    mountCall(deps, "putSearchKey", putKey),
    mountCall(deps, "checkSearchProvider", check),
    mountCall(deps, "deleteSearchKey", async ({ params: { provider } }) => {
      await secrets.remove(searchKeyName(provider));
      return answer(undefined);
    }),
  ];
}
