/** A holdfast: what seaweed grips the rock with. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" fill="currentColor" aria-hidden="true">
      <path d="M2 29c3-6 8-8.5 14-8.5S27 23 30 29z" opacity=".2" />
      <path
        d="M16 19c-1-4 1.5-6 .5-10M16 18.5c-1 4-5.5 3.5-8.5 8M16 18.5c0 4-2 5-3 8.5M16 18.5c0 4 2 5 3 8.5M16 18.5c1 4 5.5 3.5 8.5 8"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
      <path d="M16.5 10c-2.5-2.5-2-6 .5-8.5 2 3 2 6-.5 8.5z" />
      <path d="M16.6 13.5c.7-3 3.4-5 7.4-4.8-1 3.3-4 5-7.4 4.8z" />
      <path d="M15.8 16.3c-.6-3-3.3-5-7.3-4.8 1 3.3 3.9 5 7.3 4.8z" />
    </svg>
  );
}
