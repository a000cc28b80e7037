import { Mark } from "./mark.tsx";

export function Loading() {
  return (
    <output className="column late">
      <span className="waiting">
        <Mark />
      </span>
      <p className="quiet">Reaching the host…</p>
    </output>
  );
}
