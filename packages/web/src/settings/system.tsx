import { useEffect } from "react";
import { z } from "zod";
import { sentenceOf, useApp } from "../app-context.ts";
import { Icon } from "../ui/icons.tsx";
import { words } from "../strings/strings.ts";
import { Facts, Part } from "./part.tsx";
import { SignIns } from "./sign-ins.tsx";
import { useRead } from "./settings-group.tsx";

const health = z.looseObject({
  status: z.string(),
  version: z.string(),
  store: z.looseObject({ kind: z.string(), ready: z.boolean() }).optional(),
});

export function System() {
  return (
    <>
      <Health />
      <Fsck />
      <Backup />
      <SignIns />
    </>
  );
}

function Health() {
  const { client } = useApp();
  const [read] = useRead(() => client.health());
  const w = words.settings;
  return (
    <Part title={w.health} read={read}>
      {(value) => {
        const { status, version, store } = health.parse(value);
        return (
          <Facts
            all={[
              [w.status, status],
              [w.version, words.host.version(version)],
              ...(store === undefined
                ? []
                : [[w.store, w.storeReady(store.kind, store.ready)] as const]),
            ]}
          />
        );
      }}
    </Part>
  );
}

const lookMs = 700;

/** Proves every stored row, with its progress in sight. */
function Fsck() {
  const { client, toasts } = useApp();
  const [read, again] = useRead(() => client.readFsck());
  const w = words.settings.fsck;
  const isRunning = read.kind === "read" && read.value.state === "running";
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(again, lookMs);
    return () => clearInterval(timer);
  }, [isRunning, again]);
  async function start(): Promise<void> {
    const result = await client.startFsck({ body: {} });
    if (!result.ok) toasts.tell(sentenceOf(result.error));
    again();
  }
  return (
    <Part title={w.title} hint={w.hint} read={read}>
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
    </Part>
  );
}

function Backup() {
  const { client, toasts } = useApp();
  const w = words.settings.backup;
  async function make(): Promise<void> {
    const result = await client.backup({});
    toasts.tell(
      result.ok ? w.made(result.value.name, result.value.bytes) : sentenceOf(result.error),
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
