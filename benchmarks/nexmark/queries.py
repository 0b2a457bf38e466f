"""The queries of Nexmark, in Flink's SQL: `QUERIES["q5"]` reads person, auction and bid (`VIEWS`).

They ask what the public specification asks. Queries read `dateTime` of the one table of events, whose
watermark is four seconds behind. q6 is refused by Flink (OVER takes no updates), q12 windows by
processing time, q13 joins a table that is looked up (`side`).
"""

from __future__ import annotations

__all__ = ["COLUMNS", "QUERIES", "SIDE", "VIEWS"]

COLUMNS = """
    event_type INT,
    person ROW<id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING,
               state STRING, `dateTime` TIMESTAMP(3), extra STRING>,
    auction ROW<id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
                `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT,
                extra STRING>,
    bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
            `dateTime` TIMESTAMP(3), extra STRING>,
    `dateTime` AS CASE event_type WHEN 0 THEN person.`dateTime` WHEN 1 THEN auction.`dateTime`
                  ELSE bid.`dateTime` END,
    WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
"""
"""The columns of the table of events; WITH (...) says where they are."""

VIEWS = {
    "person": """
        SELECT person.id, person.name, person.emailAddress, person.creditCard, person.city,
               person.state, `dateTime`, person.extra
        FROM events WHERE event_type = 0""",
    "auction": """
        SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve,
               `dateTime`, auction.expires, auction.seller, auction.category, auction.extra
        FROM events WHERE event_type = 1""",
    "bid": """
        SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, `dateTime`, bid.extra
        FROM events WHERE event_type = 2""",
}

SIDE = "key BIGINT, `value` STRING, PRIMARY KEY (key) NOT ENFORCED"
"""The columns of the table that q13 looks up."""

QUERIES = {
    # Every bid as it is.
    "q0": "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    # Prices in another currency.
    "q1": "SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid",
    # Bids of some auctions.
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    # Who sells in three states, in category 10.
    "q3": """
        SELECT p.name, p.city, p.state, a.id
        FROM auction AS a INNER JOIN person AS p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    # The average of the highest valid bids of each category's auctions.
    "q4": """
        SELECT category, AVG(final)
        FROM (SELECT MAX(b.price) AS final, a.category
              FROM auction AS a, bid AS b
              WHERE a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
              GROUP BY a.id, a.category)
        GROUP BY category""",
    # The auctions with most bids in the last ten seconds, every two seconds.
    "q5": """
        SELECT counted.auction, counted.num
        FROM (SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
              FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND,
                             INTERVAL '10' SECOND))
              GROUP BY auction, window_start, window_end) AS counted
        JOIN (SELECT MAX(num) AS maxn, starttime, endtime
              FROM (SELECT COUNT(*) AS num, window_start AS starttime, window_end AS endtime
                    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND,
                                   INTERVAL '10' SECOND))
                    GROUP BY auction, window_start, window_end) AS numbers
              GROUP BY starttime, endtime) AS highest
        ON counted.starttime = highest.starttime AND counted.endtime = highest.endtime
           AND counted.num >= highest.maxn""",
    # The average price of the last ten auctions of each seller.
    "q6": """
        SELECT seller,
               AVG(final) OVER (PARTITION BY seller ORDER BY `dateTime`
                                ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id, seller ORDER BY final DESC) AS place
              FROM (SELECT a.id, a.seller, b.price AS final, b.`dateTime`
                    FROM auction AS a, bid AS b
                    WHERE a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires))
        WHERE place <= 1""",
    # The highest bids of each ten seconds.
    "q7": """
        SELECT b.auction, b.price, b.bidder, b.`dateTime`, b.extra
        FROM bid AS b
        JOIN (SELECT MAX(price) AS maxprice, window_end AS ended
              FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
              GROUP BY window_start, window_end) AS highest
        ON b.price = highest.maxprice
        WHERE b.`dateTime` BETWEEN highest.ended - INTERVAL '10' SECOND AND highest.ended""",
    # People who began to sell in the ten seconds in which they came.
    "q8": """
        SELECT p.id, p.name, p.starttime
        FROM (SELECT id, name, window_start AS starttime, window_end AS endtime
              FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
              GROUP BY id, name, window_start, window_end) AS p
        JOIN (SELECT seller, window_start AS starttime, window_end AS endtime
              FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
              GROUP BY seller, window_start, window_end) AS a
        ON p.id = a.seller AND p.starttime = a.starttime AND p.endtime = a.endtime""",
    # The winning bid of each auction.
    "q9": """
        SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category,
               extra, auction, bidder, price, bid_time, bid_extra
        FROM (SELECT a.*, b.auction, b.bidder, b.price, b.`dateTime` AS bid_time,
                     b.extra AS bid_extra,
                     ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime` ASC)
                     AS place
              FROM auction AS a, bid AS b
              WHERE a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires)
        WHERE place <= 1""",
    # All bids, for files by day and minute.
    "q10": """
        SELECT auction, bidder, price, `dateTime`, extra,
               DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS dt, DATE_FORMAT(`dateTime`, 'HH:mm') AS hm
        FROM bid""",
    # How many bids a bidder makes without a pause of ten seconds.
    "q11": """
        SELECT bidder, COUNT(*) AS bid_count, SESSION_START(`dateTime`, INTERVAL '10' SECOND) AS
               starttime, SESSION_END(`dateTime`, INTERVAL '10' SECOND) AS endtime
        FROM bid
        GROUP BY bidder, SESSION(`dateTime`, INTERVAL '10' SECOND)""",
    # How many bids a bidder makes in ten seconds of processing time.
    "q12": """
        SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
        FROM TABLE(TUMBLE(TABLE bid_now, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end""",
    # Bids with a value of a table that is looked up.
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.`dateTime`, s.`value`
        FROM (SELECT *, PROCTIME() AS p_time FROM bid) AS b
        JOIN side FOR SYSTEM_TIME AS OF b.p_time AS s ON MOD(b.auction, 10000) = s.key""",
    # Bids in a range of prices, with the time of the day, and how often c is in a text.
    "q14": """
        SELECT auction, bidder, 0.908 * price AS price,
               CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
                    WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime'
                    ELSE 'otherTime' END AS bidTimeType,
               `dateTime`, extra,
               CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts
        FROM bid
        WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    # Bids, bidders and auctions of each day, by price.
    "q15": """
        SELECT DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`,
               COUNT(*) AS total_bids,
               COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
               COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
               COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
               COUNT(DISTINCT bidder) AS total_bidders,
               COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
               COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000)
               AS rank2_bidders,
               COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
               COUNT(DISTINCT auction) AS total_auctions,
               COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
               COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000)
               AS rank2_auctions,
               COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
        FROM bid
        GROUP BY DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')""",
    # The same for each channel.
    "q16": """
        SELECT channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`,
               MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`,
               COUNT(*) AS total_bids,
               COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
               COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
               COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
               COUNT(DISTINCT bidder) AS total_bidders,
               COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
               COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000)
               AS rank2_bidders,
               COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
               COUNT(DISTINCT auction) AS total_auctions,
               COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
               COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000)
               AS rank2_auctions,
               COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
        FROM bid
        GROUP BY channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')""",
    # Bids and prices of each auction and day.
    "q17": """
        SELECT auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, COUNT(*) AS total_bids,
               COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
               COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
               COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
               MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price,
               SUM(price) AS sum_price
        FROM bid
        GROUP BY auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')""",
    # The last bid of each bidder for each auction.
    "q18": """
        SELECT auction, bidder, price, channel, url, `dateTime`, extra
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC)
                     AS place
              FROM bid)
        WHERE place <= 1""",
    # The ten highest bids of each auction.
    "q19": """
        SELECT *
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place
              FROM bid)
        WHERE place <= 10""",
    # Bids with their auctions, of category 10.
    "q20": """
        SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime`, b.extra, a.itemName,
               a.description, a.initialBid, a.reserve, a.`dateTime` AS auction_time, a.expires,
               a.seller, a.category, a.extra AS auction_extra
        FROM bid AS b INNER JOIN auction AS a ON b.auction = a.id
        WHERE a.category = 10""",
    # Bids with the number of their channel, where it has one.
    "q21": """
        SELECT auction, bidder, price, channel,
               CASE WHEN LOWER(channel) = 'apple' THEN '0'
                    WHEN LOWER(channel) = 'google' THEN '1'
                    WHEN LOWER(channel) = 'facebook' THEN '2'
                    WHEN LOWER(channel) = 'baidu' THEN '3'
                    ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
        FROM bid
        WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
              OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    # Bids with the folders of their address.
    "q22": """
        SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1,
               SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3
        FROM bid""",
}
