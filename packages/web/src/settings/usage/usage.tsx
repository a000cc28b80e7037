import type { RouteOutput, Routes } from "@holdfast/protocol";
import { useState } from "react";
import { useApp } from "../../app-context.ts";
import { linkProps } from "../../router/router.ts";
import { sessionTitle } from "../../sessions/session-actions.ts";
import { strings } from "../../strings/strings.ts";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";
import { DayPlot } from "./day-plot.tsx";
import { SpendLimits } from "./spend-limits.tsx";
import { UsageTable } from "./usage-table.tsx";

type Usage = RouteOutput<Routes["readUsageGroups"]>;

const periods = [7, 30, 90, 365] as const;

/** What models were used for, by day, model, conversation and schedule. */
export function UsageSettings() {
  const [days, setDays] = useState<number>(30);
  const t = strings.usage;
  return (
    <>
      <label className="usage-period">
        <span>{t.period}</span>
        <select
          className="input"
          value={days}
          onChange={(event) => setDays(Number(event.target.value))}
        >
          {periods.map((period) => (
            <option key={period} value={period}>
              {t.lastDays(period)}
            </option>
          ))}
        </select>
      </label>
      <p className="quiet">{t.hint}</p>
      <UsageOfPeriod key={days} days={days} />
      <SpendLimits />
    </>
  );
}

function UsageOfPeriod({ days }: { days: number }) {
  const { client } = useApp();
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const [query] = useHostQuery(() => client.readUsageGroups({ query: { days, timeZone } }));
  return (
    <SettingsGroup title={strings.usage.byDay} query={query}>
      {(usage) => <UsageGroups usage={usage} />}
    </SettingsGroup>
  );
}

function UsageGroups({ usage }: { usage: Usage }) {
  const { router } = useApp();
  const t = strings.usage;
  const { total, days, models, sessions, schedules } = usage;
  if (total.calls === 0) return <p>{t.nothing}</p>;
  return (
    <>
      <p className="usage-total">
        <strong>{t.tokens(total.input + total.output)}</strong>
        <span>{t.calls(total.calls)}</span>
        <span>{`${t.cached} ${t.share(total.cachedShare)}`}</span>
        {total.costMicros > 0 && <span>{t.money(total.costMicros)}</span>}
      </p>
      <DayPlot days={days} />
      <h3>{t.byModel}</h3>
      <UsageTable
        title={t.byModel}
        heading={t.model}
        rows={models.map((group) => ({ key: group.model, name: group.model, group }))}
      />
      <h3>{t.bySession}</h3>
      <UsageTable
        title={t.bySession}
        heading={t.session}
        rows={sessions.map((group) => ({
          key: group.sessionId,
          name: (
            <a {...linkProps(router, { kind: "session", id: group.sessionId, at: null })}>
              {sessionTitle(group)}
            </a>
          ),
          group,
        }))}
      />
      {schedules.length > 0 && (
        <>
          <h3>{t.bySchedule}</h3>
          <UsageTable
            title={t.bySchedule}
            heading={t.schedule}
            rows={schedules.map((group) => ({
              key: group.scheduleId,
              name: group.title ?? t.deletedSchedule,
              group,
            }))}
          />
        </>
      )}
    </>
  );
}
