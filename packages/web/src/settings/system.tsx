import { useEffect } from "react";
import { z } from "zod";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { describeBrowser } from "./describe-browser.ts";
import { Backup, ExportEverything } from "./backup.tsx";
import { SettingsGroup, useHostQuery, FactList } from "./settings-group.tsx";
import { Icon } from "../ui/icons.tsx";

export function SystemSettings() {
  return (
    <>
      <Health />
      <Fsck />
      <Backup />
      <ExportEverything />
      <SignInList />
    </>
  );
}

const healthBody = z.looseObject({
  status: z.string(),
  version: z.string(),
  store: z.looseObject({ kind: z.string(), ready: z.boolean() }).optional(),
});

function Health() {
  const { client } = useApp();
  const [query] = useHostQuery(() => client.health());
  const t = strings.settings;
  return (
    <SettingsGroup title={t.health} query={query}>
      {(value) => {
        const { status, version, store } = healthBody.parse(value);
        return (
          <FactList
            facts={[
              [t.status, status],
              [t.version, strings.host.version(version)],
              ...(store === undefined
                ? []
                : [[t.store, t.storeReady(store.kind, store.ready)] as const]),
            ]}
          />
        );
      }}
    </SettingsGroup>
  );
}

const pollMs = 700;

/** Checks every stored row against the log, and shows the progress. */
function Fsck() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.readFsck());
  const t = strings.settings.fsck;
  const isRunning = query.kind === "loaded" && query.value.state === "running";
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(refetch, pollMs);
    return () => clearInterval(timer);
  }, [isRunning, refetch]);
  async function start(): Promise<void> {
    const result = await client.startFsck({ body: {} });
    if (!result.ok) toasts.show(problemText(result.error));
    refetch();
  }
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ state, sessions, events, findings, found, clean }) => (
        <>
          {state !== "never" && (
            <output className="fsck">
              <Icon name={clean === true ? "check" : isRunning ? "clock" : "warning"} />
              <span>
                {isRunning ? t.running(sessions, events) : t.done(clean === true, events, findings)}
              </span>
              {isRunning && <span className="dot pulsing" />}
            </output>
          )}
          <ul>
            {found.map(({ code, table, message }, index) => (
              <li key={index} className="quiet">
                {table}: {message} ({code})
              </li>
            ))}
          </ul>
          <button
            type="button"
            className="button"
            disabled={isRunning}
            onClick={() => void start()}
          >
            {t.start}
          </button>
        </>
      )}
    </SettingsGroup>
  );
}

/** Signed-in browsers. Ending a sign-in also closes its streams at once. */
function SignInList() {
  const { client, host, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.listSignIns());
  const t = strings.settings.signIns;
  async function revoke(id: string): Promise<void> {
    const result = await client.revokeSignIn({ params: { id } });
    if (!result.ok) toasts.show(problemText(result.error));
    refetch();
  }
  return (
    <>
      <SettingsGroup title={t.title} hint={t.hint} query={query}>
        {({ signIns }) => (
          <ul className="facts-list">
            {signIns.map(({ id, about, createdAt, current }) => (
              <li key={id}>
                <span title={about}>
                  {about === "" ? t.unknown : describeBrowser(about)}{" "}
                  <span className="quiet">
                    {t.since(formatMoment(createdAt))}
                    {current && `, ${t.current}`}
                  </span>
                </span>
                {!current && (
                  <button type="button" className="button" onClick={() => void revoke(id)}>
                    {t.end}
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </SettingsGroup>
      <button type="button" className="button" onClick={() => void host.signOut()}>
        <span>{strings.signIn.signOut}</span>
      </button>
    </>
  );
}
