import type { ReactNode } from "react";
import type { HostQuery } from "./settings-group.tsx";

interface SettingsGroupProps<T> {
  readonly title: string;
  readonly hint?: string;
  readonly read: HostQuery<T>;
  readonly children: (value: T) => ReactNode;
}

/** One subject of the settings, with what the host says of it. */
export function SettingsGroup<T>({ title, hint, read, children }: SettingsGroupProps<T>) {
  return (
    <section className="settings-part">
      <h3>{title}</h3>
      {hint !== undefined && <p className="quiet">{hint}</p>}
      {read.kind === "read" && children(read.value)}
      {read.kind === "trouble" && <p className="quiet">{read.sentence}</p>}
    </section>
  );
}

export function FactList({ all }: { all: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {all.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
