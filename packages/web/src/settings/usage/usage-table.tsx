import type { UsageGroupView } from "@holdfast/protocol";
import type { ReactNode } from "react";
import { strings } from "../../strings/strings.ts";

export interface UsageRow {
  readonly key: string;
  readonly name: ReactNode;
  readonly group: UsageGroupView;
}

interface UsageTableProps {
  readonly title: string;
  readonly heading: string;
  readonly rows: readonly UsageRow[];
}

/** One row for each group, with a bar that compares their tokens. */
export function UsageTable({ title, heading, rows }: UsageTableProps) {
  const t = strings.usage;
  const largest = Math.max(1, ...rows.map(({ group }) => group.input + group.output));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className="usage-scroll" aria-label={title} tabIndex={0}>
      <table className="usage-table">
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            <th scope="col">{t.input}</th>
            <th scope="col">{t.output}</th>
            <th scope="col">{t.cached}</th>
            <th scope="col">{t.cost}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, group }) => (
            <tr key={key}>
              <th scope="row">
                <span className="usage-name" dir="auto">
                  {name}
                </span>
                <svg
                  className="usage-bar"
                  viewBox="0 0 100 4"
                  preserveAspectRatio="none"
                  aria-hidden="true"
                >
                  <rect className="plot-background" width="100" height="4" rx="1" />
                  <rect
                    className="plot-bar"
                    width={(100 * (group.input + group.output)) / largest}
                    height="4"
                    rx="1"
                  />
                </svg>
              </th>
              <td>{t.number(group.input)}</td>
              <td>{t.number(group.output)}</td>
              <td>{t.share(group.cachedShare)}</td>
              <td>{t.money(group.costMicros)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
