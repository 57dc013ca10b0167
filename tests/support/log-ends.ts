import type { Admin } from 'kafkajs';

/**
 * The ends of a topic's log. The leader of a new topic, or of a broker that has come back, is named before it knows
 * that it is, and refuses to tell them until then: that is waited for.
 */
export async function endsOf(admin: Admin, topic: string) {
  for (;;) {
    try {
      const offsets = await admin.fetchTopicOffsets(topic);
      return offsets.map(({ partition, high }) => ({ topic, partition, end: Number(high) }));
    } catch (error) {
      // By its name: Node finds no class of kafkajs's errors among the exports.
      const { name, retriable } = error as { name?: string; retriable?: boolean };
      if (name !== 'KafkaJSProtocolError' || retriable !== true) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
