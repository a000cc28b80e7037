import { useEffect } from "react";
import { z } from "zod";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { SettingsGroup, useHostQuery, FactList } from "./settings-group.tsx";
import { Icon } from "../ui/icons.tsx";

/** Who is signed in, where; each can be ended at once, with the streams that hang on it. */
function SignInList() {
  const { client, host, toasts } = useApp();
  const [read, again] = useHostQuery(() => client.listSignIns());
  const w = strings.settings.signIns;
  async function end(id: string): Promise<void> {
    const result = await client.revokeSignIn({ params: { id } });
    if (!result.ok) toasts.show(problemText(result.error));
    again();
  }
  return (
    <>
      <SettingsGroup title={w.title} hint={w.hint} read={read}>
        {({ signIns }) => (
          <ul className="facts-list">
            {signIns.map(({ id, about, createdAt, current }) => (
              <li key={id}>
                <span>
                  {about === "" ? w.unknown : about}{" "}
                  <span className="quiet">
                    {w.since(formatMoment(createdAt))}
                    {current && `, ${w.current}`}
                  </span>
                </span>
                {!current && (
                  <button type="button" className="button" onClick={() => void end(id)}>
                    {w.end}
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

const health = z.looseObject({
  status: z.string(),
  version: z.string(),
  store: z.looseObject({ kind: z.string(), ready: z.boolean() }).optional(),
});

export function SystemSettings() {
  return (
    <>
      <Health />
      <Fsck />
      <Backup />
      <SignInList />
    </>
  );
}

function Health() {
  const { client } = useApp();
  const [read] = useHostQuery(() => client.health());
  const w = strings.settings;
  return (
    <SettingsGroup title={w.health} read={read}>
      {(value) => {
        const { status, version, store } = health.parse(value);
        return (
          <FactList
            all={[
              [w.status, status],
              [w.version, strings.host.version(version)],
              ...(store === undefined
                ? []
                : [[w.store, w.storeReady(store.kind, store.ready)] as const]),
            ]}
          />
        );
      }}
    </SettingsGroup>
  );
}

const pollMs = 700;

/** Proves every stored row, with its progress in sight. */
function Fsck() {
  const { client, toasts } = useApp();
  const [read, again] = useHostQuery(() => client.readFsck());
  const w = strings.settings.fsck;
  const isRunning = read.kind === "read" && read.value.state === "running";
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(again, pollMs);
    return () => clearInterval(timer);
  }, [isRunning, again]);
  async function start(): Promise<void> {
    const result = await client.startFsck({ body: {} });
    if (!result.ok) toasts.show(problemText(result.error));
    again();
  }
  return (
    <SettingsGroup title={w.title} hint={w.hint} read={read}>
      {({ state, sessions, events, findings, found, clean }) => (
        <>
          {state !== "never" && (
            <output className="fsck">
              <Icon name={clean === true ? "check" : isRunning ? "clock" : "warning"} />
              <span>
                {isRunning ? w.running(sessions, events) : w.done(clean === true, events, findings)}
              </span>
              {isRunning && <span className="dot breathing" />}
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
            {w.start}
          </button>
        </>
      )}
    </SettingsGroup>
  );
}

function Backup() {
  const { client, toasts } = useApp();
  const w = strings.settings.backup;
  async function make(): Promise<void> {
    const result = await client.backup({});
    toasts.show(
      result.ok ? w.made(result.value.name, result.value.bytes) : problemText(result.error),
    );
  }
  return (
    <section className="settings-part">
      <h3>{w.title}</h3>
      <p className="quiet">{w.hint}</p>
      <button type="button" className="button" onClick={() => void make()}>
        {w.start}
      </button>
    </section>
  );
}
