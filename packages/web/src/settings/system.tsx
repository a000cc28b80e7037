import { useEffect, useState } from "react";
import { z } from "zod";
import { useApp } from "../app-context.ts";
import { words } from "../words.ts";

const health = z.looseObject({
  status: z.string(),
  version: z.string(),
  store: z.looseObject({ kind: z.string(), ready: z.boolean() }).optional(),
});

export function System() {
  const { client, host } = useApp();
  const [shown, setShown] = useState<z.infer<typeof health> | null>(null);
  useEffect(() => {
    void client.health().then((result) => {
      const parsed = result.ok ? health.safeParse(result.value) : null;
      if (parsed?.success === true) setShown(parsed.data);
      return undefined;
    });
  }, [client]);
  const w = words.settings;
  return (
    <>
      {shown !== null && (
        <dl className="facts">
          <dt>{w.status}</dt>
          <dd>{shown.status}</dd>
          <dt>{w.version}</dt>
          <dd>{words.host.version(shown.version)}</dd>
          {shown.store !== undefined && (
            <>
              <dt>{w.store}</dt>
              <dd>{w.storeReady(shown.store.kind, shown.store.ready)}</dd>
            </>
          )}
        </dl>
      )}
      <button type="button" className="button" onClick={() => void host.signOut()}>
        {words.signIn.signOut}
      </button>
    </>
  );
}
