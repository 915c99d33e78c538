/**
 * Yields the events of a body as they arrive. Comments and events without data are omitted. Ends when the body ends.
 */
export async function* sentEvents(body) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return;
            rest += decoder.decode(value, { stream: true }).replaceAll('\r', '');
            const blocks = rest.split('\n\n');
            rest = blocks.pop() ?? '';
            for (const block of blocks) {
                const event = parse(block);
                if (event !== undefined)
                    yield event;
            }
        }
    }
    finally {
        // A rejection means that the body has failed or ended already. The body's reader gets that error.
        await reader.cancel().catch(() => undefined);
    }
}
function parse(block) {
    const fields = block.split('\n').map((line) => /^(id|data): ?(.*)$/s.exec(line));
    const valuesOf = (name) => fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []));
    const data = valuesOf('data');
    const id = valuesOf('id').at(-1);
    if (data.length === 0)
        return undefined;
    return { data: data.join('\n'), ...(id === undefined ? {} : { id }) };
}
