/** Describes the progress of a call: `3 of 10, page 3`. */
export function howFar({ progress, total, text }) {
    const numbers = total === undefined ? `${progress}` : `${progress} of ${total}`;
    return text === undefined ? numbers : `${numbers}, ${text}`;
}
