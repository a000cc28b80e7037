import type { GatewayView, ScheduleId, ScheduleView } from "@holdfast/protocol";
import type { Result } from "@holdfast/client";
import { useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import type { KnownNames } from "../gateway/lane-name.ts";
import { SettingsGroup, useInterval, useHostQuery } from "../settings-group.tsx";
import { ScheduleCard } from "./schedule-card.tsx";
import { ScheduleForm } from "./schedule-form.tsx";
import { useSessionTitles } from "../use-titles.ts";

const texts = strings.schedules;
const costDays = 30;
const noGateway: KnownNames & Pick<GatewayView, "lanes"> = { people: [], lanes: [] };

/** The list of scheduled prompts, with everything that can be done to them. */
export function ScheduleSettings() {
  const { client, toasts } = useApp();
  const [query, refetch, update] = useHostQuery(() => client.listSchedules());
  const [gateway] = useHostQuery(() => client.readGateway());
  const [usage] = useHostQuery(() => client.readUsageGroups({ query: { days: costDays } }));
  const [edited, setEdited] = useState<ScheduleId | "new" | null>(null);
  useInterval(5_000, refetch);
  const schedules = query.kind === "loaded" ? query.value.schedules : [];
  const titleOfSession = useSessionTitles(schedules.flatMap(sessionsOf));
  const costs = usage.kind === "loaded" ? usage.value.schedules : [];
  const chats = gateway.kind === "loaded" ? gateway.value : noGateway;

  function show(schedule: ScheduleView): void {
    update(({ schedules: old }) => ({
      schedules: old.some(({ id }) => id === schedule.id)
        ? old.map((other) => (other.id === schedule.id ? schedule : other))
        : [...old, schedule],
    }));
  }
  async function settle<T>(request: Promise<Result<T>>, message: string): Promise<T | null> {
    const result = await request;
    toasts.show(result.ok ? message : problemText(result.error));
    if (!result.ok) refetch();
    return result.ok ? result.value : null;
  }

  async function run(id: ScheduleId): Promise<void> {
    const ran = await settle(client.runSchedule({ params: { id } }), texts.ran);
    if (ran !== null) show(ran.schedule);
  }
  async function toggleState({ id, state }: ScheduleView): Promise<void> {
    const body = { state: state === "on" ? "off" : "on" } as const;
    const result = await client.changeSchedule({ params: { id }, body });
    if (result.ok) show(result.value.schedule);
    else toasts.show(problemText(result.error));
  }
  async function remove(id: ScheduleId): Promise<void> {
    const removed = await settle(client.removeSchedule({ params: { id } }), texts.removed);
    if (removed !== null)
      update(({ schedules: old }) => ({ schedules: old.filter((other) => other.id !== id) }));
  }

  const form = (schedule: ScheduleView | null) => (
    <ScheduleForm
      key={schedule?.id ?? "new"}
      schedule={schedule}
      chats={chats}
      onSaved={(saved) => {
        show(saved);
        setEdited(null);
        toasts.show(texts.saved);
      }}
      onClose={() => setEdited(null)}
    />
  );

  return (
    <SettingsGroup title={texts.title} hint={texts.hint} query={query}>
      {() => (
        <>
          {edited === "new" ? (
            form(null)
          ) : (
            <button type="button" className="button primary" onClick={() => setEdited("new")}>
              <Icon name="add" />
              {texts.add}
            </button>
          )}
          {schedules.length === 0 && edited !== "new" && (
            <p className="quiet">{`${texts.none} ${texts.noneLead}`}</p>
          )}
          <ul className="settings-cards">
            {schedules.map((schedule) =>
              edited === schedule.id ? (
                <li key={schedule.id}>{form(schedule)}</li>
              ) : (
                <ScheduleCard
                  key={schedule.id}
                  schedule={schedule}
                  knownNames={chats}
                  cost={costs.find(({ scheduleId }) => scheduleId === schedule.id) ?? null}
                  titleOfSession={titleOfSession}
                  onRun={() => void run(schedule.id)}
                  onSetState={() => void toggleState(schedule)}
                  onEdit={() => setEdited(schedule.id)}
                  onRemove={() => void remove(schedule.id)}
                />
              ),
            )}
          </ul>
        </>
      )}
    </SettingsGroup>
  );
}

function sessionsOf({ target }: ScheduleView) {
  return "sessionId" in target ? [target.sessionId] : [];
}
